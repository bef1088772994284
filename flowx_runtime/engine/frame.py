"""Where a walk is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flowx_runtime.engine.bag import Bag
from flowx_runtime.journal.records import Wait

Waits: TypeAlias = tuple[Wait, ...]

Moved: TypeAlias = int | Waits
"""The next node, or the waits that hold this walk."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The element or attempt a walk belongs to, and the bag it reads and writes."""

    scope: str
    bag: Bag

    def inner(self, element: int) -> str:
        """The scope of an element or attempt inside this one."""
        return f"{self.scope}/{element}" if self.scope else str(element)
