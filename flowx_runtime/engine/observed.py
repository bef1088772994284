"""Reports the calls and commits of an engine, where a host has somebody to report to."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Call
from flowx_runtime.engine.failures import UNHANDLED
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Commit, Committed, Refused
from flowx_runtime.plan.uses import CapabilityUse
from flowx_runtime.telemetry.contract import CallEnd, CallFacts, Telemetry


def observed_call(telemetry: Telemetry, use: CapabilityUse, call: Call) -> Call:
    """A call that is reported."""

    async def observed(request: Any, context: StepRun) -> Any:
        facts = CallFacts(
            context.flow_id,
            context.instance_id,
            context.name,
            use.id,
            use.version,
            context.attempt,
            context.compensating_for,
        )
        with telemetry.calling(facts) as tell:
            try:
                value = await call(request, context)
            except BaseException as error:
                tell(_end_by(error, context))
                raise
            tell(CallEnd("ok"))
            return value

    return observed


def _end_by(error: BaseException, context: StepRun) -> CallEnd:
    if context.execution is not None and context.execution.parked is not None:
        return CallEnd("parked")  # also where a task group carries it
    match error:
        case FlowError():
            return CallEnd("failed", error.code or UNHANDLED, error.category.value)
        case asyncio.CancelledError():
            return CallEnd("cancelled")
        case _:
            return CallEnd("failed", UNHANDLED, Category.INTERNAL.value)


def observed_journal(journal: Journal, telemetry: Telemetry) -> Journal:
    """A journal whose commits are reported."""
    observed: Any = _ObservedJournal(journal, telemetry)
    found: Journal = observed
    return found


class _ObservedJournal:
    """Everything else is the journal's own, also what only some journals have."""

    def __init__(self, journal: Journal, telemetry: Telemetry) -> None:
        self._journal = journal
        self._telemetry = telemetry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def commit(self, commit: Commit) -> Committed | Refused:
        began = time.perf_counter()
        outcome = "unavailable"
        try:
            answer = await self._journal.commit(commit)
            outcome = "refused" if isinstance(answer, Refused) else "ok"
            return answer
        finally:
            self._telemetry.committed(timedelta(seconds=time.perf_counter() - began), outcome)
