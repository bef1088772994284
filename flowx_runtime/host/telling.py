"""What a host says of an instance: how it ended, what it waits for, why something cannot be done with it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.ended import Ended
from flowx_runtime.engine.session import CHILD_FINISHED, children_waited_for
from flowx_runtime.host.errors import InstanceTerminal, NotRunnable, UnknownInstance
from flowx_runtime.host.outcome import Compensation, Completed, Failed, Outcome, Suspended
from flowx_runtime.host.plans import Plans
from flowx_runtime.journal.records import History, InstanceRow, Refusal, Refused, RowOutcome, State, Wait


def outcome_of(ended: Ended) -> Outcome:
    """Of a run that this process has made."""
    if ended.state is State.COMPLETED:
        return Completed(ended.output, ended.instance_id)
    if ended.error is not None:
        return Failed(ended.error, _compensation(ended.state, has_undone=ended.has_undone), ended.instance_id)
    return Suspended(ended.instance_id, _awaiting(ended.waits))


def outcome_in(history: History, plans: Plans, documents: Documents) -> Outcome:
    """Of an instance as the journal has it.

    Raises:
        NotRunnable: it has an output, and this node does not have the plan that says of which contract.
    """
    instance = history.instance
    if instance.state is State.COMPLETED:
        plan = plans.find(instance.flow_id, instance.flow_version)
        if plan is None:
            raise not_runnable(instance)
        value = None
        if plan.output is not None and instance.output is not None:
            value = documents.restored(plan.output, instance.output, instance.instance_id)
        return Completed(value, instance.instance_id)
    if instance.state.is_terminal and instance.error is not None:
        has_undone = any(row.outcome is RowOutcome.COMPENSATED for row in history.rows)
        return Failed(instance.error, _compensation(instance.state, has_undone=has_undone), instance.instance_id)
    return Suspended(instance.instance_id, _awaiting(instance.waits))


def refusal(instance_id: UUID, refused: Refused) -> UnknownInstance | InstanceTerminal:
    """Why the journal took nothing for an instance."""
    if refused.reason is Refusal.UNKNOWN_INSTANCE:
        return UnknownInstance(f"the journal has no instance {instance_id}")
    return InstanceTerminal(f"instance {instance_id} has ended: it takes no signal and cannot be cancelled")


def not_runnable(instance: InstanceRow) -> NotRunnable:
    """Why this node does not go on with an instance that others may."""
    return NotRunnable(
        f"this node does not have the plan {instance.flow_id} {instance.flow_version} "
        f"({instance.plan_digest[:12]}) that instance {instance.instance_id} is pinned to: "
        "deploy that version next to the new one"
    )


def why_nothing_is_retried(instance: InstanceRow) -> str:
    """A sentence for whoever wants another attempt where none is waited for."""
    named = f"instance {instance.instance_id}"
    if instance.state.is_terminal:
        return f"{named} has ended {instance.state.value} and takes no further step: start a new one"
    if instance.state is not State.SUSPENDED:
        return f"{named} is {instance.state.value}, so nothing of it waits for another attempt: resume it"
    children = ", ".join(map(str, children_waited_for(instance.waits)))
    if children:
        return f"{named} waits for the instance {children}, which it started: retry that one"
    return f"{named} waits for no further attempt at a step: deliver its signal, or wait for its clock"


def _awaiting(waits: Iterable[Wait]) -> tuple[str, ...]:
    signals = (wait.signal_id for wait in waits)
    return tuple(dict.fromkeys(name for name in signals if name is not None and not name.startswith(CHILD_FINISHED)))


def _compensation(state: State, *, has_undone: bool) -> Compensation:
    if state is State.COMPENSATION_FAILED:
        return Compensation.FAILED
    return Compensation.COMPLETED if has_undone else Compensation.NOT_NEEDED
