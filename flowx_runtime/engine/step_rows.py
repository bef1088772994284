"""What an attempt at a step is given, and the row it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowx_runtime.engine import failures
from flowx_runtime.engine.failures import FlowFailure, stored_error
from flowx_runtime.engine.frame import Frame
from flowx_runtime.engine.invocation import Answer
from flowx_runtime.engine.redaction import ValueRedacted, refuse_holes
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.engine.undo import takes_result
from flowx_runtime.journal.records import RowOutcome, StepRow
from flowx_runtime.plan.nodes import Step

if TYPE_CHECKING:
    from flowx_runtime.engine.session import Session
    from flowx_runtime.engine.walker import Walker


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
        refuse_holes(found, in_text=True)
    except ValueRedacted as redacted:
        raise FlowFailure(stored_error(redacted, (), code=redacted.code)) from redacted
    return found


def context_of(walker: Walker, frame: Frame, node: Step, scope: str, attempt: int) -> StepRun:
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


def written_row(session: Session, node: Step, context: StepRun, answer: Answer, request: Any) -> StepRow:
    if answer.error is not None:
        return row_of(node, context, answer)
    contract = node.capability.result
    try:
        result = None if contract is None else session.stored(contract, answer.value)
        # The request is kept only where the undo of this very row needs it.
        keeps_request = node.compensation is not None and not takes_result(node)
        kept = session.stored(node.capability.request, request) if keeps_request else None
    except Exception as unwritable:  # a value that JSON cannot carry is the capability's defect
        error = stored_error(unwritable, (request, answer.value), code=failures.WRONG_RESULT)
        error = replace(error, detail=f"step {node.name!r}: {error.detail}")
        return row_of(node, context, Answer(None, error, answer.duration_ms))
    return row_of(node, context, answer, request=kept, result=result)


def row_of(
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
