"""How one pass over an instance came to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flowx_runtime.journal.records import State, StoredError, Wait


@dataclass(frozen=True, slots=True)
class Ended:
    """The state an instance rests in, and what goes with it."""

    instance_id: UUID
    state: State
    output: Any = None
    """The output itself, where this pass made it."""
    output_json: str | None = None
    error: StoredError | None = None
    waits: tuple[Wait, ...] = ()
    has_undone: bool = False
    """Whether anything was undone."""
    parent_instance_id: UUID | None = None
    """Who was woken by this end."""
