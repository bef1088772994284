"""What a store keeps of pauses: flows, or single instances, that nobody is to begin or go on with for now.

Guarantees every store keeps:

* What is paused is given out by no claim. What is under way goes on to its next park.
* A start and a delivery are accepted all the same: nothing is lost while something is paused.
* A pause costs nothing where there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

EVERY_FLOW: Final = "*"
"""What is paused where everything is."""


@dataclass(frozen=True, slots=True)
class Pause:
    """One thing that is paused."""

    target: str
    """The id of a flow or of an instance, or `EVERY_FLOW`."""
    reason: str
    paused_at: datetime
    """By the store's clock."""


class PauseStore(Protocol):
    """Keeps what is paused."""

    async def pause(self, target: str, reason: str = "") -> bool:
        """Give no instance of a flow out any more, or not this instance, or none at all (`EVERY_FLOW`).

        Says whether it was not paused before; where it was, the first reason stays.
        """
        ...

    async def unpause(self, target: str) -> bool:
        """Take a pause back; says whether there was one. Another that holds the same instances stays."""
        ...

    async def pauses(self) -> Sequence[Pause]:
        """Everything that is paused, by target."""
        ...


def said_of_pause(pause: Pause) -> str:
    """What is paused, why, and what to do about it."""
    what = "everything is" if pause.target == EVERY_FLOW else f"{pause.target} is"
    why = f" ({pause.reason})" if pause.reason else ""
    target = "--all" if pause.target == EVERY_FLOW else pause.target
    return f"{what} paused{why}: `flowx unpause {target}` when it may go on"


def holds(targets: Collection[str], flow_id: str, instance_id: UUID | None = None) -> bool:
    """Whether an instance, or a flow as a whole, is paused by what is."""
    return bool(targets) and (
        EVERY_FLOW in targets or flow_id in targets or (instance_id is not None and str(instance_id) in targets)
    )
