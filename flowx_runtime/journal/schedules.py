"""What a store keeps of schedules, so that an occurrence is decided once and outlives every node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PlannedFire:
    """An occurrence that somebody decided to fire and nobody has noted as started."""

    occurrence_at: datetime
    flow_version: str
    """The version it starts under, whoever starts it."""
    release_at: datetime
    """The occurrence and its jitter."""


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """How far one schedule has been considered. Key: (flow, cron, time zone); shared by the flow's versions."""

    flow_id: str
    cron: str
    time_zone: str
    first_version: str
    """The version that began it. Names the instances of its occurrences, whichever version starts them."""
    flow_version: str
    """The newest version that has served it."""
    considered_until: datetime
    planned: tuple[PlannedFire, ...] = ()
    fired: int = 0
    skipped: int = 0
    """Missed and given up by the schedule's policy."""
    lost: int = 0
    """Missed by more than the catch-up horizon."""
    revision: int = 0
    """How often it was saved; 0 for a row that is not stored yet. The store counts it."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.flow_id, self.cron, self.time_zone


class ScheduleStore(Protocol):
    """The schedules of a journal. A row is written whole, by whoever has seen its latest revision."""

    async def schedules(self, flow_ids: Collection[str]) -> Sequence[ScheduleRow]:
        """Every row of these flows, in one statement; takes no lock."""
        ...

    async def save_schedule(self, row: ScheduleRow) -> bool:
        """Store a row if nobody stored it since it was read; says whether it was stored, as the next revision.

        Revision 0 creates the row. Of any number of concurrent saves of one revision exactly one is stored.
        """
        ...

    async def remove_schedule(self, row: ScheduleRow) -> bool:
        """Remove a row if nobody stored it since it was read; says whether it was removed."""
        ...
