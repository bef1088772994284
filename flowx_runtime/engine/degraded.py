"""A step whose answer somebody else gave: it counts as done, and nothing undoes it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from flowx_runtime.authoring.policies import Fallback
from flowx_runtime.engine.failures import WRONG_RESULT, FlowFailure
from flowx_runtime.engine.frame import Frame
from flowx_runtime.engine.invocation import Answer, invoke
from flowx_runtime.engine.once.run import Parked
from flowx_runtime.engine.policies.fallback import stand_in
from flowx_runtime.engine.step_rows import context_of, request_of, row_of
from flowx_runtime.journal.records import RowOutcome
from flowx_runtime.plan.nodes import Step

if TYPE_CHECKING:
    from flowx_runtime.engine.walker import Walker

_LOG = logging.getLogger("flowx.engine")


async def degrade(
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
    context = context_of(walker, frame, node, scope, session.attempt_after((scope, node.index)))
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
    result = None
    if use.result is not None and session.is_durable:
        contract = use.result
        result = walker.ask(lambda _: session.stored(contract, value), frame.bag, WRONG_RESULT)
    session.keep_result(scope, node.index, use.result, value)
    session.record(
        replace(row_of(node, context, Answer(value, failed.error, 0)), outcome=RowOutcome.DEGRADED, result=result)
    )
    if use.result is not None:
        frame.bag.put(use.result, value)
