"""How a flow stands when a caller asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias
from uuid import UUID

from flowx_runtime.journal.records import StoredError


class Compensation(Enum):
    """What became of the steps that a failed flow had completed."""

    NOT_NEEDED = "not_needed"
    COMPLETED = "completed"
    FAILED = "failed"
    """Something could not be undone: an operator is needed."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The flow ended, with its output."""

    value: Any
    instance_id: UUID


@dataclass(frozen=True, slots=True)
class Suspended:
    """The flow has not ended: it waits, or another node or call has it.

    A start answers so although the instance is running where its idempotency key was used before, or where the lease
    was taken over by another node: that one goes on with it. `FlowHost.outcome` tells later what came of it, and
    `FlowHost.inspect` the state it is in now.
    """

    instance_id: UUID
    awaiting: tuple[str, ...]
    """Ids of the signals that would continue it now.

    Empty where it waits for a clock, another attempt or a child, is paused, or is being worked on.
    """


@dataclass(frozen=True, slots=True)
class Failed:
    """The flow ended with an error."""

    error: StoredError
    compensation: Compensation
    instance_id: UUID


Outcome: TypeAlias = Completed | Suspended | Failed
