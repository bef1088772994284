"""Steps: one capability, called with what the bag or a map gives, until it answers or its policy is used up."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.policies import Retry
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.authority import refusal
from flowx_runtime.engine.degraded import degrade
from flowx_runtime.engine.documents import ValueNotKept
from flowx_runtime.engine.failures import Disowned, FlowFailure, stored_error
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.invocation import Answer, OpenTransaction, invoke, refuse_if_left, told, wrong_result
from flowx_runtime.engine.once.run import Parked
from flowx_runtime.engine.side_by_side import is_stopped
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.engine.step_rows import context_of, request_of, row_of, written_row
from flowx_runtime.engine.turns import LONGEST_PAUSE, wait_for_a_turn
from flowx_runtime.engine.undo import takes_result, undo_of_step
from flowx_runtime.engine.waits import earliest
from flowx_runtime.journal.contract import NotStorable
from flowx_runtime.journal.records import StepRow, StoredError, Wait
from flowx_runtime.plan.nodes import Step

if TYPE_CHECKING:
    from flowx_runtime.engine.walker import Walker

_LOG = logging.getLogger("flowx.engine")
_MAY_PASS = frozenset({Category.CONFLICT.value, Category.UNAVAILABLE.value, Category.INTERNAL.value})


async def step(walker: Walker, frame: Frame, node: Step) -> Moved:
    """Run a step node, or pass its row."""
    row = walker.session.done.get((frame.scope, node.index))
    if row is not None:
        walker.pass_row(frame, row, node.capability.result)
        return node.index + 1
    walker.check_deadline()
    return await walker.perform(frame, node, frame.scope) or node.index + 1


async def step_in_memory(walker: Walker, frame: Frame, node: Step) -> Moved:
    """Run a step node of a flow that keeps no journal. The shortest way there is: such steps may be microseconds."""
    if node.policy is not None or walker.session.failed:
        return await step(walker, frame, node)
    session, use, bag = walker.session, node.capability, frame.bag
    if session.deadline is not None:
        walker.check_deadline()
    if session.caller is not None:
        refused = refusal(use, session.caller)
        if refused is not None:
            raise FlowFailure(stored_error(refused, (), code=refused.code))
    context = context_of(walker, frame, node, frame.scope, 1)
    request = request_of(walker, frame, node)
    try:
        value = await walker.guards.guarded(use, None)(request, context)
        refuse_if_left(context)
    except GeneratorExit:  # the run itself is thrown away
        raise
    except BaseException as error:
        try:
            said = told(error, request, context)
        except Parked as parked:
            await walker.pause(parked.gap)
            return await step(walker, frame, node)
        raise FlowFailure(said, row_of(node, context, Answer(None, said, 0))) from error
    if use.result is not None:
        if not isinstance(value, use.result):
            said = wrong_result(use, value)
            raise FlowFailure(said, row_of(node, context, Answer(None, said, 0)))
        bag.put(use.result, value)
    if node.compensation is not None:
        undo = undo_of_step(session.plan, session.instance_id, node, frame.scope, request=request, result=value)
        session.push_undo(undo)
    return node.index + 1


async def perform(walker: Walker, frame: Frame, node: Step, scope: str) -> Waits:
    """Call the capability until it answers; every attempt that ended is a row, a cancelled one leaves none.

    Gives the wait for the next attempt, where that is too far off to stay awake for.
    """
    given = await _answer(walker, frame, node, scope)
    if not isinstance(given, FlowFailure):
        return given
    fallback = None if node.policy is None else node.policy.fallback
    if fallback is None:
        raise given
    await degrade(walker, frame, node, scope, fallback, given)
    return ()


async def _answer(walker: Walker, frame: Frame, node: Step, scope: str) -> Waits | FlowFailure:
    """Call the capability until it answers or its policy is used up; gives the open waits, or the last failure."""
    session = walker.session
    key = (scope, node.index)
    retry = None if node.policy is None else node.policy.retry
    known = session.failed.get(key)
    if known is None:
        _refuse_caller(walker, node)  # whoever it is held back for is gone when its turn comes
        waits = await wait_for_a_turn(walker, node, scope)
        if waits:
            return waits
    elif known.error is not None:
        if not is_retried(retry, known.attempt, known.error):
            forgiven = FlowFailure(known.error)
            forgiven.at = key
            return forgiven
        due = _due_after(known, retry, recorded=session.recorded_waits.get(key), draw=walker.random.random())
        if due is not None and walker.clock.now() < due:
            return (Wait(scope, node.index, earliest(due, session.deadline)),)
    while True:
        try:
            failed = await _attempt(walker, frame, node, scope)
        except Parked as parked:
            if session.is_durable and parked.gap > LONGEST_PAUSE:
                return (Wait(scope, node.index, earliest(parked.due_at, session.deadline)),)
            await walker.pause(parked.gap)
            walker.check_deadline()
            continue
        if failed is None:
            return ()
        error, row = failed.error, failed.row
        if row is None or retry is None or not is_retried(retry, row.attempt, error):
            return failed
        session.record(row)
        gap = retry.backoff.gap(row.attempt - 1, draw=walker.random.random())
        if gap > LONGEST_PAUSE and session.is_durable:
            return (Wait(scope, node.index, earliest(walker.clock.now() + gap, session.deadline)),)
        await session.flush()
        await walker.pause(gap)
        walker.check_deadline()


def _due_after(failed: StepRow, retry: Retry | None, *, recorded: datetime | None, draw: float) -> datetime | None:
    """When to try again after an attempt; `None` for at once.

    Its process may have died before it could record that. What is recorded then is nothing, or is the wait that the
    attempt itself had come from, where the instance holds several.
    """
    began = failed.captured.utc_now
    if began is None or (recorded is not None and recorded > began):
        return recorded
    gap = timedelta(0) if retry is None else retry.backoff.gap(failed.attempt - 1, draw=draw)
    return began + gap if gap > LONGEST_PAUSE else None


def is_retried(retry: Retry | None, attempts: int, error: StoredError) -> bool:
    """Whether a policy tries again after this attempt."""
    if error.code in (ValueNotKept.code, NotStorable.code):
        return False  # the work is done, and its contract will be no other
    return retry is not None and attempts < retry.attempts and error.category in _MAY_PASS


async def _attempt(walker: Walker, frame: Frame, node: Step, scope: str) -> FlowFailure | None:
    session, use = walker.session, node.capability
    _refuse_caller(walker, node)
    request = request_of(walker, frame, node)
    await session.flush()
    if session.overlapping and is_stopped():
        await walker.leave()  # between two attempts
    walker.check_cancelled()
    context = context_of(walker, frame, node, scope, session.attempt_after((scope, node.index)))
    if session.journal is not None:
        return await _attempt_in_journal(walker, frame, node, context, request)
    answer = await invoke(use, walker.guards.guarded(use, node.policy), request, context)
    if answer.error is not None:
        return FlowFailure(answer.error, row_of(node, context, answer))
    session.push_undo(
        undo_of_step(session.plan, session.instance_id, node, scope, request=request, result=answer.value)
    )
    if use.result is not None:
        frame.bag.put(use.result, answer.value)
    return None


def _refuse_caller(walker: Walker, node: Step) -> None:
    caller = walker.session.caller
    refused = None if caller is None else refusal(node.capability, caller)
    if refused is not None:
        raise FlowFailure(stored_error(refused, (), code=refused.code))


async def _attempt_in_journal(
    walker: Walker, frame: Frame, node: Step, context: StepRun, request: Any
) -> FlowFailure | None:
    session, use = walker.session, node.capability
    if use.has_steps:
        await context.resume_execution()
        frame.bag.utc_now = context.utc_now
    transaction = _transaction(walker)
    if transaction is not None:
        context.step_transaction = transaction.join
    try:
        answer = await invoke(use, walker.guards.guarded(use, node.policy), request, context)
    except BaseException:
        if transaction is not None:
            await transaction.roll_back()
        raise
    row = written_row(session, node, context, answer, request)
    if row.error is not None:
        if transaction is not None:
            await transaction.roll_back()
        return FlowFailure(row.error, row)
    session.keep_result(context.scope, node.index, use.result, answer.value)
    if node.compensation is not None:
        session.keep_undo_value(context.scope, node.index, answer.value if takes_result(node) else request)
    if transaction is not None and transaction.is_open:
        try:
            await transaction.commit(session.commit_of(row))
        except NotStorable as error:
            await transaction.roll_back()
            refused = stored_error(error, (), code=error.code)
            return FlowFailure(refused, row_of(node, context, Answer(None, refused, answer.duration_ms)))
        except (Disowned, FlowxError):
            raise
        except Exception as error:  # the database did not let the step's own work last
            said = told(error, request, context)
            return FlowFailure(said, row_of(node, context, Answer(None, said, answer.duration_ms)))
        session.note_written(row)
    else:
        session.record(row)
    if use.result is not None:
        frame.bag.put(use.result, answer.value)
    return None


def _transaction(walker: Walker) -> OpenTransaction | None:
    begin = getattr(walker.session.journal, "transaction", None)
    return None if begin is None else OpenTransaction(begin)
