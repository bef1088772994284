"""How the nodes on one store know of each other: who is there, and who has something for the others to do.

None of it is needed for correctness. Leases run out by the store's clock and sweeps find everything; a store that
offers this lets peers go on sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable


@dataclass(frozen=True, slots=True)
class Hint:
    """What one node lets the others know. May be lost, and may come twice."""

    is_ready: bool = False
    """An instance may go on now, or may be taken over."""
    wakes: tuple[datetime, ...] = ()
    """Instants until which something was parked by a node that will not look for it."""
    has_events: bool = False
    """Events were staged by a node that publishes none."""


OnHint: TypeAlias = Callable[[Hint], None]


class Presence(Protocol):
    """One node among others."""

    async def keep(self) -> None:
        """Be there for the others to see, take their hints, and free what nodes that died had leased; until cancelled.

        Only while this runs are this node's instances taken over by others before their leases run out.
        """
        ...

    async def tell(self, hint: Hint) -> None:
        """Let the other nodes know.

        Raises:
            JournalUnavailable: they do not know.
        """
        ...

    async def leave(self) -> int:
        """Give every lease of this node back, be gone, and have the others look; gives how many leases there were.

        Raises:
            JournalUnavailable: the leases run out by themselves.
        """
        ...


@runtime_checkable
class HasPresence(Protocol):
    """A journal whose nodes know of each other."""

    def presence(self, owner: str, on_hint: OnHint) -> Presence:
        """The presence of a node.

        Args:
            owner: the node's name in leases.
            on_hint: is called with what the other nodes say, and with `is_ready` where this node itself finds that
                there may be something to do.
        """
        ...
