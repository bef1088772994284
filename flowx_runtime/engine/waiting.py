"""Waits: for a signal, for the clock, for an answer that is asked for again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine import failures
from flowx_runtime.engine.failures import FlowFailure, failure, stored_error
from flowx_runtime.engine.frame import Frame, Moved
from flowx_runtime.engine.session import TIMED_OUT
from flowx_runtime.engine.waits import PollFacts, PollVerdict, Verdict, due_at, earliest, judge_poll
from flowx_runtime.journal.records import Wait
from flowx_runtime.plan.nodes import AwaitSignal, Branch, Delay, ForEach, Parallel, Poll, Step, Switch

if TYPE_CHECKING:
    from datetime import datetime

    from flowx_runtime.engine.session import Session
    from flowx_runtime.engine.walker import Walker
    from flowx_runtime.plan.plan import Plan

DELAY: Final = "flow.delay"
"""Capability id of the row by which a delay says that it is over."""


def delay(walker: Walker, frame: Frame, node: Delay) -> Moved:
    """Park on the clock."""
    session, key = walker.session, (frame.scope, node.index)
    row = session.done.get(key)
    if row is not None:
        walker.pass_row(frame, row, None)
        return node.index + 1
    walker.check_deadline()
    now = walker.clock.now()
    due = due_at(recorded=session.recorded_waits.get(key), now=now, duration=node.duration)
    if now < due:
        return (Wait(frame.scope, node.index, earliest(due, session.deadline)),)
    walker.record(frame, node, DELAY)
    return node.index + 1


async def await_signal(walker: Walker, frame: Frame, node: AwaitSignal) -> Moved:
    """Park until a signal or a timeout.

    A signal comes before the clock, as in a poll: what was delivered ends the wait as long as nothing of its timeout is
    in the journal, however late a sweep is. Which of two clocks is right is never asked: the instance's own rows
    decide, and a wait is over no earlier than it says, but may be later. Deadline and cancellation come before both.
    """
    session, key = walker.session, (frame.scope, node.index)
    after = node.index + 1 if node.signal_target is None else node.signal_target
    row = session.done.get(key)
    if row is not None:
        walker.pass_row(frame, row, node.signal.type if row.capability_id == node.signal.id else None)
        return after
    if node.signal_target is not None and session.has_entered(frame.scope, node.index + 1, after):
        return await _time_out(walker, frame, node, node.index + 1, after)
    walker.check_deadline()
    if _take_signal(walker, frame, node, node.signal.id, node.signal.type):
        return after
    now = walker.clock.now()
    due = due_at(recorded=session.recorded_waits.get(key), now=now, duration=node.timeout)
    if now < due:
        return (Wait(frame.scope, node.index, earliest(due, session.deadline), node.signal.id),)
    if node.signal_target is None:
        raise failure(
            failures.SIGNAL_NOT_RECEIVED,
            Category.UNAVAILABLE,
            f"{node.signal.id!r} was not delivered within {node.timeout}",
        )
    return await _time_out(walker, frame, node, node.index + 1, after)


def wait_at_start(plan: Plan[Any, Any], now: datetime, deadline: datetime | None) -> Wait | None:
    """Where a new instance parks before anything else is done: `None` of a flow that begins otherwise."""
    match plan.nodes[0]:
        case Delay(duration=duration):
            signal_id = None
        case AwaitSignal(timeout=duration) as node:
            signal_id = node.signal.id
        case _:
            return None
    wake_at = earliest(due_at(recorded=None, now=now, duration=duration), deadline)
    return Wait("", 0, wake_at, signal_id) if now < wake_at else None


async def poll(walker: Walker, frame: Frame, node: Poll) -> Moved:
    """Ask until the predicate holds, a signal ends it, or the budget is spent.

    The order is deadline, predicate, signal, schedule: a finished poll must not eat a signal of a later wait, and a
    signal between two attempts ends the poll without one more call.
    """
    session = walker.session
    body = session.plan.nodes[node.index + 1]
    assert isinstance(body, Step)
    escalation = node.index + 2
    after = escalation if node.satisfied_target is None else node.satisfied_target
    attempts, first_attempt = _pass_attempts(walker, frame, body)
    ending = session.done.get((frame.scope, node.index))
    if ending is not None:
        by_signal = node.signal is not None and ending.capability_id == node.signal.id
        walker.pass_row(frame, ending, node.signal.type if node.signal is not None and by_signal else None)
        return after
    if node.satisfied_target is not None and session.has_entered(frame.scope, escalation, after):
        return await _time_out(walker, frame, node, escalation, after)
    while True:
        walker.check_deadline()
        if attempts and walker.ask(node.until, frame.bag, failures.PREDICATE_FAILED):
            return after
        if node.signal is not None and _take_signal(walker, frame, node, node.signal.id, node.signal.type):
            return after
        parked_at = frame.inner(attempts - 1) if attempts else frame.scope
        attempt_scope = frame.inner(attempts)
        facts = PollFacts(
            attempts=attempts,
            first_attempt=first_attempt,
            recorded=session.recorded_waits.get((parked_at, node.index)),
            has_begun_next=(attempt_scope, body.index) in session.failed,
        )
        judged = _judge(walker, node, facts)
        match judged.verdict:
            case Verdict.PARK:
                assert judged.wake_at is not None
                return (Wait(parked_at, node.index, judged.wake_at, node.signal.id if node.signal else None),)
            case Verdict.OVER if node.satisfied_target is None:
                detail = f"{body.name!r} did not satisfy the poll in {attempts} attempts"
                raise failure(failures.POLL_NOT_SATISFIED, Category.UNAVAILABLE, detail)
            case Verdict.OVER:
                return await _time_out(walker, frame, node, escalation, after)
            case Verdict.ATTEMPT:
                waits = await walker.perform(frame, body, attempt_scope)
                if waits:
                    return waits
                first_attempt = first_attempt or frame.bag.utc_now
                attempts += 1


def _pass_attempts(walker: Walker, frame: Frame, body: Step) -> tuple[int, datetime | None]:
    """Pass the attempts there are; how many, and the clock that the first one captured."""
    attempts, first_attempt = 0, None
    while (row := walker.session.done.get((frame.inner(attempts), body.index))) is not None:
        walker.pass_row(frame, row, body.capability.result)
        first_attempt = first_attempt or row.captured.utc_now
        attempts += 1
    return attempts, first_attempt


def _judge(walker: Walker, node: Poll, facts: PollFacts) -> PollVerdict:
    return judge_poll(
        facts,
        interval=node.interval,
        budget=node.timeout,
        now=walker.clock.now(),
        deadline=walker.session.deadline,
        draw=walker.random.random(),
    )


def _take_signal(walker: Walker, frame: Frame, node: AwaitSignal | Poll, signal_id: str, contract: type[Any]) -> bool:
    """Make a delivered signal the wait's own row, if there is one."""
    delivery = walker.session.take(signal_id)
    if delivery is None:
        return False
    try:
        value = walker.session.signal_value(contract, delivery)
    except ValueError as error:
        raise FlowFailure(stored_error(error, frame.bag.everything(), code=failures.SIGNAL_INVALID)) from error
    frame.bag.put(contract, value)
    walker.session.keep_result(frame.scope, node.index, contract, value)
    walker.record(frame, node, signal_id, result=delivery.payload, taken=delivery)
    return True


def is_over(walker: Walker, frame: Frame, node: AwaitSignal | Poll) -> bool:
    """Whether what is in the journal alone says that a wait is over."""
    session = walker.session
    if (frame.scope, node.index) in session.done:
        return True
    start = node.index + 1 if isinstance(node, AwaitSignal) else node.index + 2
    after = node.signal_target if isinstance(node, AwaitSignal) else node.satisfied_target
    if after is not None and session.has_entered(frame.scope, start, after):
        return True
    if isinstance(node, AwaitSignal):
        return False
    body = session.plan.nodes[node.index + 1]
    assert isinstance(body, Step)
    attempts, _ = _pass_attempts(walker, frame, body)
    return attempts > 0 and bool(walker.ask(node.until, frame.bag, failures.PREDICATE_FAILED))


async def _time_out(walker: Walker, frame: Frame, node: AwaitSignal | Poll, start: int, end: int) -> Moved:
    """Run the timeout block. A timeout has no row: the block's rows, or a wait open in it, are its evidence.

    A block that begins with something to undo is entered in writing: a signal that comes when a process has died in
    it must not have the wait end otherwise, and what was done there forgotten.
    """
    session = walker.session
    is_unwritten = session.is_durable and not session.has_entered(frame.scope, start, end)
    if is_unwritten and start < end and _may_leave_no_trace(session, start, end):
        await session.go_beyond((frame.scope, node.index), Wait(frame.scope, start, walker.clock.now()))
    waits = await walker.walk(frame, start, end)
    if waits:
        return waits
    if not walker.session.has_entered(frame.scope, start, end, with_waits=False):
        walker.record(frame, node, TIMED_OUT)
    return end


def _may_leave_no_trace(session: Session, start: int, end: int) -> bool:
    """Whether the first effect of a block may be one that is undone, with no row and no wait before it."""
    match session.plan.nodes[start]:
        case Step() as step:
            return step.compensation is not None
        case Branch() | Switch() | Parallel() | ForEach():
            block = session.plan.nodes[start:end]
            return any(isinstance(node, Step) and node.compensation is not None for node in block)
        case _:
            return False
