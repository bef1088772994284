"""Sensitive values as this process had them, where what is stored of them says less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

Place: TypeAlias = tuple[UUID, str, int]
"""Instance, scope and node."""

Sent: TypeAlias = tuple[UUID, str]
"""Instance and delivery."""


@dataclass(frozen=True, slots=True)
class Live:
    """Kept for as long as one run goes on without a break; shared with the inline children it runs.

    Only what has sensitive members is here. After a resume it is empty, and the journal alone says what was.
    """

    results: dict[Place, Any] = field(default_factory=dict)
    undo_values: dict[Place, Any] = field(default_factory=dict)
    """What the undo of a step is given."""
    signals: dict[Sent, Any] = field(default_factory=dict)
    """What was delivered through this process while the run went on."""
    arriving: Mapping[Sent, Any] = field(default_factory=dict)
    """What is being delivered through this process at this moment, to whichever instance."""

    def message(self, sent: Sent) -> Any | None:
        """The very message of a delivery, where this process has it."""
        return self.signals.get(sent, self.arriving.get(sent))
