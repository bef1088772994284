"""Reads what became of a run from the journal that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Completed, Failed, Outcome
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import History, State, Wait
from flowx_runtime.plan.nodes import Step
from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.ledger import Ledger
from flowx_runtime.testing.trace import Trace, TraceEvent, TraceRow, Waited, row_of


@dataclass(frozen=True, slots=True)
class Observed:
    """A run as it stood at one moment."""

    trace: Trace
    outcome: Outcome
    leases: int


async def observe(
    instance_id: UUID,
    *,
    journal: Journal,
    host: FlowHost,
    ledger: Ledger,
    plans: Mapping[str, Plan[Any, Any]],
    in_memory: Outcome | None,
) -> Observed:
    """A run and the children it ran, in the order in which their rows were written."""
    if in_memory is not None:
        return Observed(_trace_in_memory(instance_id, in_memory, ledger), in_memory, 0)
    histories = [history for each in _family(instance_id, ledger) if (history := await journal.read(each)) is not None]
    leases = 0
    events: list[TraceEvent] = []
    once: list[str] = []
    for history in histories:
        leases += await journal.live_leases(history.instance.instance_id)
        staged = await journal.events(history.instance.instance_id)
        events += [TraceEvent(event.type, event.version, event.payload) for event in staged]
        records = await journal.once_records(history.instance.instance_id, history.instance.flow_id)
        once += [record.path for record in records if record.is_done]
    rows = [
        (ledger.order.get((history.instance.instance_id, row.scope, row.step_id, row.attempt), 0), history, row)
        for history in histories
        for row in history.rows
    ]
    rows.sort(key=lambda ranked: ranked[0])
    instance = histories[0].instance
    trace = Trace(
        flow=instance.flow_id,
        state=instance.state,
        error=instance.error,
        output=instance.output,
        rows=tuple(
            row_of(history.instance.flow_id, row, is_call=_is_call(plans, history, row.step_id, row.capability_id))
            for _, history, row in rows
        ),
        waits=tuple(dict.fromkeys(_waited(histories, ledger))),
        open_waits=tuple(_named(ledger, instance_id, wait) for wait in instance.waits),
        events=tuple(events),
        leases_held=leases,
        once=tuple(once),
    )
    return Observed(trace, await host.outcome(instance_id), leases)


def _family(instance_id: UUID, ledger: Ledger) -> list[UUID]:
    family = [instance_id]
    for member in family:
        family += [each for each, parent in ledger.parents.items() if parent == member]
    return family


def _is_call(plans: Mapping[str, Plan[Any, Any]], history: History, step: int, capability: str) -> bool:
    plan = plans.get(history.instance.flow_id)
    node = None if plan is None or step >= len(plan.nodes) else plan.nodes[step]
    return isinstance(node, Step) and node.capability.id == capability


def _waited(histories: list[History], ledger: Ledger) -> Iterator[Waited]:
    family = {history.instance.instance_id for history in histories}
    for _, commit in ledger.commits:
        if commit.instance_id in family and commit.state is State.SUSPENDED and commit.release_lease:
            for wait in commit.waits:
                yield _named(ledger, commit.instance_id, wait)


def _named(ledger: Ledger, instance_id: UUID, wait: Wait) -> Waited:
    return Waited(ledger.step_name(instance_id, wait.step_id), wait.scope, wait.wake_at, wait.signal_id)


def _trace_in_memory(instance_id: UUID, outcome: Outcome, ledger: Ledger) -> Trace:
    """Of a flow that keeps no journal, the calls are all there is."""
    calls = [call for call in ledger.calls if call.instance_id == instance_id]
    rows = tuple(_row_in_memory(call, call.at) for call in calls)
    return Trace(
        flow=calls[0].flow_id if calls else "",
        state=State.COMPLETED if isinstance(outcome, Completed) else State.FAILED,
        error=outcome.error if isinstance(outcome, Failed) else None,
        output=repr(outcome.value) if isinstance(outcome, Completed) else None,
        rows=rows,
        waits=(),
        open_waits=(),
        events=(),
        leases_held=0,
    )


def _row_in_memory(call: Any, at: datetime) -> TraceRow:
    done = "Success" if call.compensates is None else "Compensated"
    return TraceRow(
        flow=call.flow_id,
        scope=call.scope,
        step=-1,
        attempt=call.attempt,
        name=call.name,
        capability=call.capability_id,
        outcome="Failure" if call.error is not None else done,
        error=getattr(call.error, "code", None),
        at=at,
        is_call=call.compensates is None,
    )
