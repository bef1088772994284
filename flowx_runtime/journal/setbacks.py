"""What a store keeps of instances that a node could not go on with, so that whoever looks at one sees why.

Written only then, and over again: a store keeps the last setback of an instance, for as long as nothing was committed
to it since. It goes with its instance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

NODE_LOST: Final = "instance.node_lost"
"""Code of a setback that is noted by who takes an instance over: the process that worked on it is gone, and had got no
further. Once is what recovery is for; what is lost over again and again may be the reason itself."""


@dataclass(frozen=True, slots=True)
class Setback:
    """Why a node could not go on with an instance."""

    instance_id: UUID
    code: str
    detail: str
    """No value that was stored is in it."""
    node: str
    """The owner name of who tried."""
    times: int
    """How often it was tried in vain since the last commit, by any node."""
    noted_at: datetime
    """By the store's clock."""


class SetbackStore(Protocol):
    """Keeps the last setback of each instance."""

    async def note_setback(self, instance_id: UUID, *, code: str, detail: str, node: str) -> None:
        """Keep why an instance could not be gone on with; nothing for one that is unknown."""
        ...

    async def setbacks(self, instance_ids: Collection[UUID]) -> Sequence[Setback]:
        """Those of these instances that have not gone on since; of one that has ended there is none.

        A first `NODE_LOST` is none either.
        """
        ...
