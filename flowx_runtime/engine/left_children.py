"""The inline children of an instance that goes back: it ends after them, and undoes what they have completed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.engine.frame import Waits
from flowx_runtime.engine.session import CHILD_FINISHED, Session, child_ended
from flowx_runtime.engine.unbegun import leave_unbegun
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Captured, Filter, InstanceRow, RowOutcome, State, StepRow, Wait
from flowx_runtime.plan.nodes import SubFlow

LOOK_AGAIN: Final = timedelta(days=1)
"""A parent is woken by its child's last commit; this is the backstop if it never ends."""


def may_have_children(session: Session) -> bool:
    """Whether there may be children that end before an instance does."""
    nodes = session.plan.nodes
    return session.is_durable and any(isinstance(node, SubFlow) and node.mode is SubFlowMode.INLINE for node in nodes)


async def stop_children(
    session: Session, journal: Journal, *, now: Callable[[], datetime], on_cancel: Callable[[], None]
) -> Waits:
    """Have the children end; gives the waits for those that have not, and records those that have completed unseen.

    Which there are, the journal knows: a process may have died, or a branch been cancelled, between the start of a
    child and everything else. A child that is told to stop may complete all the same.
    """
    await _settle_starts(session, journal)
    children = await journal.find(Filter(parent=session.instance_id, limit=sys.maxsize))
    waits: list[Wait] = []
    # What completed last is undone first, as everywhere.
    for child in sorted(children, key=lambda row: (row.updated_at, row.instance_id)):
        if child.state.is_terminal:
            _note_end(session, child, now())
            continue
        if await _is_to_be_cancelled(session, journal, child, now()):
            on_cancel()
        waits.append(_wait_for(child, now()))
    return tuple(waits)


async def _settle_starts(session: Session, journal: Journal) -> None:
    for child, starting in list(session.starting.items()):
        started = await starting
        if started.lease is not None:
            await leave_unbegun(journal, started.lease)
        del session.starting[child]


async def _is_to_be_cancelled(session: Session, journal: Journal, child: InstanceRow, now: datetime) -> bool:
    """Ask a child to stop, if anybody has to; whether it was asked just now."""
    if child.cancel_reason is not None or child.error is not None:
        return False
    reason = session.cancel_reason
    if reason is None:
        if session.deadline is not None and now >= session.deadline:
            return False  # its own time is up as well: it stops by itself
        reason = f"its parent failed with {session.error.code}" if session.error is not None else ""
    return await journal.request_cancel(child.instance_id, reason) is None


def _wait_for(child: InstanceRow, now: datetime) -> Wait:
    assert child.parent_step_id is not None
    signal_id = f"{CHILD_FINISHED}{child.instance_id}"
    return Wait(child.parent_scope, child.parent_step_id, now + LOOK_AGAIN, signal_id)


def _note_end(session: Session, child: InstanceRow, now: datetime) -> None:
    """Have a child that completed unseen undone with the rest: its row says that it is there."""
    key = scope, step_id = child.parent_scope, child.parent_step_id
    assert step_id is not None
    if child.state is not State.COMPLETED or key in session.done:
        session.pass_by(f"{CHILD_FINISHED}{child.instance_id}")
        return
    node = session.plan.nodes[step_id]
    row = StepRow(
        scope=scope,
        step_id=step_id,
        attempt=session.attempt_after((scope, step_id)),
        capability_id=child.flow_id,
        outcome=RowOutcome.SUCCESS,
        name=getattr(node, "name", ""),
        captured=Captured(now),
    )
    session.take(f"{CHILD_FINISHED}{child.instance_id}")
    session.record(row, taken=child_ended(child.instance_id))
