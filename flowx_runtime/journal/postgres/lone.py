"""Writes that nothing shares a transaction with, as statements of plain columns.

The common three: a start, a step's row, and a last row with the end. Each does what the function for any write does
at half its cost, or writes nothing and leaves it to that function to say why.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, TypeAlias

from flowx_runtime.journal.postgres.documents import captured_text, error_text, start_document
from flowx_runtime.journal.records import Commit, NewInstance, StepRow

Lone: TypeAlias = tuple[str, list[Any]]
"""The name of a statement, and its parameters."""

_NAME_OF_STEP: Final = "lone_step"
_NAME_OF_END: Final = "lone_end"


def lone_start(instance: NewInstance, owner: str, ttl: timedelta) -> Lone:
    """The statement of a start; it gives no row where the instance exists."""
    if instance.parked is not None:
        return "start_parked", [f"[{start_document(instance, owner, ttl)}]"]
    return "lone_start", [
        instance.instance_id,
        instance.flow_id,
        instance.flow_version,
        instance.plan_digest,
        instance.tenant_id,
        instance.input,
        instance.correlation_id,
        instance.deadline_at,
        instance.parent_instance_id,
        instance.parent_scope,
        instance.parent_step_id,
        owner,
        ttl,
    ]


def lone_commit(commit: Commit) -> Lone | None:
    """The statement of a commit; it gives no row where the commit is refused. `None` for a commit that does more."""
    if (
        len(commit.rows) != 1
        or commit.events
        or commit.taken_deliveries
        or commit.waits
        or commit.parent_delivery is not None
    ):
        return None
    target = [commit.instance_id, commit.fencing_token]
    row = _columns(commit.rows[0])
    if commit.state is None:
        if commit.output is not None or commit.error is not None or commit.release_lease:
            return None
        return _NAME_OF_STEP, target + row
    if not commit.state.is_terminal:
        return None
    end = [commit.state.value, commit.output, error_text(commit.error)]
    return _NAME_OF_END, end + target + row + [commit.fencing_token]


def _columns(row: StepRow) -> list[Any]:
    return [
        row.scope,
        row.step_id,
        row.attempt,
        row.name,
        row.capability_id,
        row.outcome.value,
        row.request,
        row.result,
        error_text(row.error),
        captured_text(row.captured),
        row.duration_ms,
    ]
