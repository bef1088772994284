"""Why an instance stands where it does, decided from what is known of it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from flowx_cli.operate.moments import moment, span
from flowx_cli.operate.pinned import Pinned
from flowx_cli.operate.waits import wait_words
from flowx_runtime.engine.session import children_waited_for
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.pauses import Pause, said_of_pause
from flowx_runtime.journal.postgres.around import Around
from flowx_runtime.journal.records import REOPENED, History, InstanceRow, RowOutcome, State, StepRow
from flowx_runtime.journal.setbacks import Setback
from flowx_runtime.plan import Step


def why_it_stands(
    history: History,
    around: Around,
    once: Sequence[OnceRecord],
    pinned: Pinned,
    *,
    setback: Setback | None = None,
    pauses: Sequence[Pause] = (),
) -> Iterator[str]:
    """A sentence for each thing that keeps an instance from going on, the weightiest first."""
    instance = history.instance
    if instance.state is State.COMPENSATION_FAILED:
        yield from _not_undone(history)
    if not instance.state.is_terminal:
        for pause in pauses:
            yield f"{said_of_pause(pause)}; paused since {moment(pause.paused_at)}"
        if setback is not None:
            yield said_of_setback(setback, around.now)
        if pinned.lacks is not None:
            yield pinned.lacks
        if instance.cancel_reason is not None:
            yield "somebody asked to cancel it: it goes back at its next boundary"
        yield from _of_parked(instance, around, once, pinned) if instance.waits else _of_running(instance, around)
    for event in around.events:
        if event.set_aside_at is not None and event.published_at is None and event.dropped_at is None:
            yield f"its event {event.type} was set aside after {event.attempts} attempts: {event.last_error}"


def said_of_setback(setback: Setback, now: datetime) -> str:
    """Why a node could not go on with an instance."""
    tries = "in 1 try" if setback.times == 1 else f"in {setback.times} tries"
    since = span(now - setback.noted_at)
    return (
        f"{setback.node} could not go on with it {tries}, the last {since} ago, with {setback.code}: {setback.detail}"
    )


def _not_undone(history: History) -> Iterator[str]:
    for row in _failed_undos(history.rows):
        said = "" if row.error is None else f", last with {row.error.code}: {row.error.detail}"
        yield f"{row.capability_id} could not undo {_named(row)} in {row.attempts_made} attempts{said}"
    yield f"mend what was in its way, then `flowx retry {history.instance.instance_id}`"


class _FailedUndo:
    """The last attempt at an undo that never succeeded, and how many there were since it was last reopened."""

    __slots__ = ("attempts_made", "capability_id", "error", "name", "scope", "step_id")

    def __init__(self, row: StepRow) -> None:
        self.name, self.scope, self.step_id = row.name, row.scope, row.step_id
        self.capability_id, self.error = row.capability_id, row.error
        self.attempts_made = 1


def _failed_undos(rows: Sequence[StepRow]) -> Sequence[_FailedUndo]:
    done: set[tuple[str, int]] = set()
    failed: dict[tuple[str, int], _FailedUndo] = {}
    for row in rows:
        key = (row.scope, row.step_id)
        if row.capability_id == REOPENED:
            failed.clear()
        elif row.outcome is RowOutcome.SUCCESS:
            done.add(key)
        elif row.outcome is RowOutcome.COMPENSATED:
            failed.pop(key, None)
        elif row.outcome is RowOutcome.FAILURE and (key in done or "child:" in row.scope):
            before = failed.get(key)
            failed[key] = _FailedUndo(row)
            failed[key].attempts_made += 0 if before is None else before.attempts_made
    return list(failed.values())


def _named(row: _FailedUndo) -> str:
    return f"{row.name!r}" + (f" (scope {row.scope})" if row.scope else "")


def _of_running(instance: InstanceRow, around: Around) -> Iterator[str]:
    lease = around.lease
    if lease is not None and lease.expires_at > around.now:
        yield f"{lease.owner} works on it since {span(around.now - instance.updated_at)} after its last row"
        return
    waited = "" if lease is None else f" since {moment(lease.expires_at)}"
    yield f"nobody works on it{waited}: {_who_would(around)}"


def _of_parked(instance: InstanceRow, around: Around, once: Sequence[OnceRecord], pinned: Pinned) -> Iterator[str]:
    for wait in instance.waits:
        node = None if pinned.plan is None else pinned.plan.nodes[wait.step_id]
        if isinstance(node, Step):
            yield (
                f"step {node.name!r} is tried again at {moment(wait.wake_at)}: "
                f"`flowx retry {instance.instance_id}` tries it now"
            )
        else:
            yield f"it waits for {wait_words(wait, around.now)}"
    for record in once:
        if not record.is_done and record.error is not None and record.due_at is not None:
            times = "once" if record.attempts == 1 else f"{record.attempts} times"
            yield f"{record.path} failed {times}, last with {record.error.code}: {record.error.detail}"
    wake = instance.wake
    if wake is not None and wake.at <= around.now and not children_waited_for(instance.waits):
        lease = around.lease
        if lease is not None and lease.expires_at > around.now:
            yield f"{lease.owner} goes on with it"
        else:
            yield f"it has been due for {span(around.now - wake.at)}: {_who_would(around)}"


def _who_would(around: Around) -> str:
    if around.nodes:
        nodes = "one node is" if around.nodes == 1 else f"{around.nodes} nodes are"
        return f"{nodes} running, and one that has its plan takes it up"
    return "no node is known to be running; start one (`flowx worker`)"
