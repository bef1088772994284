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
    """The flow has not ended."""

    instance_id: UUID
    awaiting: tuple[str, ...]
    """Ids of the signals that would continue it now; empty where it waits for a clock, or is being worked on."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The flow ended with an error."""

    error: StoredError
    compensation: Compensation
    instance_id: UUID


Outcome: TypeAlias = Completed | Suspended | Failed
