"""What an unwind has to do, read from the rows that say what was done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from flowx_runtime.authoring.policies import Retry
from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.identity import child_id
from flowx_runtime.engine.live import Live
from flowx_runtime.engine.redaction import refuse_holes
from flowx_runtime.journal.records import RowOutcome, StepRow
from flowx_runtime.plan.nodes import Step, SubFlow
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.uses import CapabilityUse

_CHILD = "child:"


@dataclass(frozen=True, slots=True)
class Undo:
    """One completed step that an unwind undoes."""

    use: CapabilityUse
    compensates: str
    """Capability id of the step."""
    name: str
    scope: str
    """Where the undo's rows are kept."""
    step_id: int
    instance_id: UUID
    flow_id: str
    origin_scope: str
    """The scope of the step in its own instance: what its idempotency key is made of."""
    retry: Retry | None
    payload: Any = None
    """The value itself, where this process ran the step."""
    recorded: str | None = None
    """Its JSON, where the journal gave it back."""

    def value(self, documents: Documents) -> Any:
        """What that very execution of the step was given or gave.

        Raises:
            ValueError: it no longer fits its contract.
            ValueRedacted: a part of it was not kept.
        """
        if self.recorded is None:
            return self.payload
        value = documents.restored(self.use.request, self.recorded, self.instance_id)
        refuse_holes(value)
        return value


@dataclass(frozen=True, slots=True)
class ChildUndo:
    """A finished child: its own steps are undone in its place."""

    child_id: UUID
    scope: str
    step_id: int


def takes_result(step: Step) -> bool:
    """Whether the undo of a step is given its result; else its request. Where both fit, the result says more."""
    return step.compensation is not None and step.compensation.request is step.capability.result


def undo_of_step(
    plan: Plan[Any, Any], instance_id: UUID, step: Step, scope: str, *, request: Any, result: Any
) -> Undo | None:
    """The undo of a step that has just completed."""
    if step.compensation is None:
        return None
    entry = _undo(plan, instance_id, step, step.compensation, scope)
    return replace(entry, payload=result if takes_result(step) else request)


def undo_of_row(plan: Plan[Any, Any], instance_id: UUID, row: StepRow, live: Live) -> Undo | ChildUndo | None:
    """The undo of a step or an inline child, from its row."""
    if row.outcome is not RowOutcome.SUCCESS:
        return None
    match plan.nodes[row.step_id]:
        case Step(compensation=CapabilityUse() as use) as step:
            entry = _undo(plan, instance_id, step, use, row.scope)
            place = (instance_id, row.scope, row.step_id)
            if place in live.undo_values:
                return replace(entry, payload=live.undo_values[place])
            return replace(entry, recorded=row.result if takes_result(step) else row.request)
        case SubFlow(mode=SubFlowMode.INLINE):
            return ChildUndo(child_id(instance_id, row.scope, row.step_id), row.scope, row.step_id)
        case _:
            return None


def child_scope(scope: str, step_id: int, inner: str) -> str:
    """Where the undo of a child's step is kept in its parent: the child itself has ended and takes no more rows."""
    return "/".join(part for part in (scope, f"{_CHILD}{step_id}", inner) if part)


def is_undo_of_child(scope: str) -> bool:
    """Whether a scope is one that `child_scope` made."""
    return _CHILD in scope


def _undo(plan: Plan[Any, Any], instance_id: UUID, step: Step, use: CapabilityUse, scope: str) -> Undo:
    return Undo(
        use=use,
        compensates=step.capability.id,
        name=step.name,
        scope=scope,
        step_id=step.index,
        instance_id=instance_id,
        flow_id=plan.flow_id,
        origin_scope=scope,
        retry=step.policy.compensation_retry if step.policy is not None else None,
    )
