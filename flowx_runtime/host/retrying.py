"""Brings forward what a parked instance is to try again later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from flowx_runtime.host.plans import AnyPlan
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import Claimed, InstanceRow, Wait
from flowx_runtime.plan.nodes import Step


def retries_waited_for(plan: AnyPlan, waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """The open waits that are for another attempt at a step."""
    return tuple(wait for wait in waits if isinstance(plan.nodes[wait.step_id], Step))


async def due_now(plan: AnyPlan, claim: Claimed, journal: Journal, now: datetime) -> Claimed | None:
    """The claim with every attempt that it waits for due at once; `None` where it waits for none, or it was lost.

    Also the steps inside capabilities, whose records say when they are due, are made due; every other wait stays.
    """
    history, lease = claim.history, claim.lease
    instance = history.instance
    later = {(wait.scope, wait.step_id) for wait in retries_waited_for(plan, instance.waits) if wait.wake_at > now}
    if not later:
        return None
    recorded = await journal.once_records(instance.instance_id, plan.flow_id)
    forward = [replace(record, due_at=now) for record in recorded if _is_due_after(record, now)]
    if forward:
        refused = await journal.record_once(instance.instance_id, forward, fencing_token=lease.fencing_token)
        if refused is not None:
            return None
    waits = tuple(
        replace(wait, wake_at=now) if (wait.scope, wait.step_id) in later else wait for wait in instance.waits
    )
    moved: InstanceRow = replace(instance, waits=waits)
    return replace(claim, history=replace(history, instance=moved))


def _is_due_after(record: OnceRecord, now: datetime) -> bool:
    return not record.is_done and record.due_at is not None and record.due_at > now
