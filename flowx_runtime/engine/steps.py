"""Steps: one capability, called with what the bag or a map gives, until it answers or its policy is used up."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.policies import Fallback, Retry
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine import failures
from flowx_runtime.engine.authority import refusal
from flowx_runtime.engine.failures import Disowned, FlowFailure, stored_error
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.invocation import Answer, OpenTransaction, invoke, refuse_if_parked, told, wrong_result
from flowx_runtime.engine.once.run import Parked
from flowx_runtime.engine.policies.fallback import stand_in
from flowx_runtime.engine.policies.rate_limit import RateLimited
from flowx_runtime.engine.redaction import ValueRedacted, refuse_holes
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.engine.undo import takes_result, undo_of_step
from flowx_runtime.engine.waits import earliest
from flowx_runtime.journal.records import RowOutcome, StepRow, StoredError, Wait
from flowx_runtime.plan.nodes import Step

if TYPE_CHECKING:
    from flowx_runtime.engine.session import Session
    from flowx_runtime.engine.walker import Walker

LONGEST_PAUSE: Final = timedelta(seconds=1)
"""A longer gap between attempts is not slept through: the instance parks."""

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
    context = _context(walker, frame, node, frame.scope, 1)
    request = request_of(walker, frame, node)
    try:
        value = await walker.guards.guarded(use, None)(request, context)
        refuse_if_parked(context)
    except Parked as parked:
        await walker.pause(parked.gap)
        return await step(walker, frame, node)
    except Exception as error:
        said = told(error, request, context)
        raise FlowFailure(said, _row(node, context, Answer(None, said, 0))) from error
    if use.result is not None:
        if not isinstance(value, use.result):
            said = wrong_result(use, value)
            raise FlowFailure(said, _row(node, context, Answer(None, said, 0)))
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
    await _degrade(walker, frame, node, scope, fallback, given)
    return ()


async def _answer(walker: Walker, frame: Frame, node: Step, scope: str) -> Waits | FlowFailure:
    """Call the capability until it answers or its policy is used up; gives the open waits, or the last failure."""
    session = walker.session
    key = (scope, node.index)
    retry = None if node.policy is None else node.policy.retry
    known = session.failed.get(key)
    if known is None:
        waits = await _wait_for_a_turn(walker, node, scope)
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


async def _wait_for_a_turn(walker: Walker, node: Step, scope: str) -> Waits:
    """Begin no more steps than the rate limit lets through."""
    if node.policy is None or node.policy.rate_limit is None:
        return ()
    session = walker.session
    due = session.recorded_waits.get((scope, node.index))
    if due is not None and walker.clock.now() < due:
        return (Wait(scope, node.index, due),)
    while gap := walker.guards.admit(node.capability, node.policy):
        if gap > LONGEST_PAUSE:
            if session.is_durable:
                return (Wait(scope, node.index, earliest(walker.clock.now() + gap, session.deadline)),)
            refused = RateLimited(
                f"{node.capability.id!r} is at its rate limit: try again in {gap.total_seconds():.0f} s"
            )
            raise FlowFailure(stored_error(refused, (), code=refused.code))
        await walker.pause(gap)
        walker.check_deadline()
    return ()


async def _degrade(
    walker: Walker, frame: Frame, node: Step, scope: str, fallback: Fallback, failed: FlowFailure
) -> None:
    """Leave what stands in for the answer, in a row that says so; nothing undoes it.

    Raises:
        FlowFailure: what stands in fails too; the failure is the one of the capability itself.
    """
    session, use = walker.session, node.capability
    if failed.row is not None:
        session.record(failed.row)
    instead = stand_in(fallback, use)
    request = request_of(walker, frame, node)
    context = _context(walker, frame, node, scope, session.attempt_after((scope, node.index)))
    value = fallback.value
    if instead is not None:
        await session.flush()
        try:
            answer = await invoke(instead, walker.guards.guarded(instead, None), request, context)
        except Parked as parked:
            raise FlowFailure(failed.error) from parked
        if answer.error is not None:
            _LOG.warning("%s, which stands in for %s, failed too: %s", instead.id, use.id, answer.error.code)
            raise FlowFailure(failed.error)
        value = answer.value
    elif use.result is not None and not isinstance(value, use.result):
        _LOG.error("the fallback of %s is no %s: %s", use.id, use.result.__name__, type(value).__name__)
        raise FlowFailure(failed.error)
    result = None if use.result is None or not session.is_durable else session.stored(use.result, value)
    session.keep_result(scope, node.index, use.result, value)
    session.record(
        replace(_row(node, context, Answer(value, failed.error, 0)), outcome=RowOutcome.DEGRADED, result=result)
    )
    if use.result is not None:
        frame.bag.put(use.result, value)


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
    return retry is not None and attempts < retry.attempts and error.category in _MAY_PASS


async def _attempt(walker: Walker, frame: Frame, node: Step, scope: str) -> FlowFailure | None:
    session, use = walker.session, node.capability
    if session.caller is not None:
        refused = refusal(use, session.caller)
        if refused is not None:
            raise FlowFailure(stored_error(refused, (), code=refused.code))
    request = request_of(walker, frame, node)
    await session.flush()
    walker.check_cancelled()
    context = _context(walker, frame, node, scope, session.attempt_after((scope, node.index)))
    if session.journal is not None:
        return await _attempt_in_journal(walker, frame, node, context, request)
    answer = await invoke(use, walker.guards.guarded(use, node.policy), request, context)
    if answer.error is not None:
        return FlowFailure(answer.error, _row(node, context, answer))
    session.push_undo(
        undo_of_step(session.plan, session.instance_id, node, scope, request=request, result=answer.value)
    )
    if use.result is not None:
        frame.bag.put(use.result, answer.value)
    return None


def request_of(walker: Walker, frame: Frame, node: Step) -> Any:
    """What a map says, or the value of the request's contract in the bag."""
    contract = node.capability.request
    if node.request is not None:
        found = walker.ask(node.request, frame.bag, failures.MAP_FAILED)
    else:
        found = frame.bag.find(contract)
        if found is None:
            found = walker.ask(lambda bag: bag.get(contract), frame.bag, failures.VALUE_MISSING)
    if walker.session.journal is None:
        return found  # it never came out of a store
    try:
        refuse_holes(found)
    except ValueRedacted as redacted:
        raise FlowFailure(stored_error(redacted, (), code=redacted.code)) from redacted
    return found


def _context(walker: Walker, frame: Frame, node: Step, scope: str, attempt: int) -> StepRun:
    session, now = walker.session, walker.clock.now()
    frame.bag.utc_now = now
    run = StepRun(
        now,
        session.instance_id,
        session.plan.flow_id,
        node.capability.id,
        node.name,
        attempt,
        scope,
        frame.scope,
        session.deadline,
        session.principal,
        None,
        frame.bag,
    )
    run.open_execution = walker.open_execution
    return run


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
    row = _written_row(session, node, context, answer, request)
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
        except (Disowned, FlowxError):
            raise
        except Exception as error:  # the database did not let the step's own work last
            said = told(error, request, context)
            return FlowFailure(said, _row(node, context, Answer(None, said, answer.duration_ms)))
        session.note_written(row)
    else:
        session.record(row)
    if use.result is not None:
        frame.bag.put(use.result, answer.value)
    return None


def _transaction(walker: Walker) -> OpenTransaction | None:
    begin = getattr(walker.session.journal, "transaction", None)
    return None if begin is None else OpenTransaction(begin)


def _written_row(session: Session, node: Step, context: StepRun, answer: Answer, request: Any) -> StepRow:
    if answer.error is not None:
        return _row(node, context, answer)
    contract = node.capability.result
    try:
        result = None if contract is None else session.stored(contract, answer.value)
        # The request is kept only where the undo of this very row needs it.
        keeps_request = node.compensation is not None and not takes_result(node)
        kept = session.stored(node.capability.request, request) if keeps_request else None
    except Exception as unwritable:  # a value that JSON cannot carry is the capability's defect
        error = stored_error(unwritable, (request, answer.value), code=failures.WRONG_RESULT)
        return _row(node, context, Answer(None, error, answer.duration_ms))
    return _row(node, context, answer, request=kept, result=result)


def _row(
    node: Step, context: StepRun, answer: Answer, *, request: str | None = None, result: str | None = None
) -> StepRow:
    return StepRow(
        scope=context.scope,
        step_id=node.index,
        attempt=context.attempt,
        capability_id=node.capability.id,
        outcome=RowOutcome.SUCCESS if answer.error is None else RowOutcome.FAILURE,
        name=node.name,
        request=request,
        result=result,
        error=answer.error,
        captured=context.captured(),
        duration_ms=answer.duration_ms,
    )
