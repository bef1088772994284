"""Schedules in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC

from flowx_runtime.journal.schedules import ScheduleRow


class MemorySchedules:
    """The schedules of a journal over a dictionary."""

    _schedules: dict[tuple[str, str, str], ScheduleRow]

    async def schedules(self, flow_ids: Collection[str]) -> Sequence[ScheduleRow]:
        return [row for row in self._schedules.values() if row.flow_id in flow_ids]

    async def save_schedule(self, row: ScheduleRow) -> bool:
        if self._revision(row) != row.revision:
            return False
        considered_until = row.considered_until.astimezone(UTC)
        self._schedules[row.key] = replace(row, considered_until=considered_until, revision=row.revision + 1)
        return True

    async def remove_schedule(self, row: ScheduleRow) -> bool:
        if row.revision == 0 or self._revision(row) != row.revision:
            return False
        del self._schedules[row.key]
        return True

    def _revision(self, row: ScheduleRow) -> int:
        stored = self._schedules.get(row.key)
        return 0 if stored is None else stored.revision
