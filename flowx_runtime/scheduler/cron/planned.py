"""Starts what was decided, and takes it off the list."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from flowx_runtime.engine.clock import Clock
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow
from flowx_runtime.scheduler.cron.decisions import Scheduled
from flowx_runtime.scheduler.cron.identity import occurrence_id
from flowx_runtime.scheduler.cron.reports import Reports, named

_LOG = logging.getLogger("flowx.schedules")

_AT_A_TIME: Final = 16
"""Occurrences of one schedule that are started side by side."""


class Starts(Protocol):
    """Whoever can start an instance for an occurrence."""

    def has(self, flow_id: str, version: str) -> bool:
        """Whether this node has the plan, and takes work."""
        ...

    async def start(self, row: ScheduleRow, fire: PlannedFire, instance_id: UUID) -> bool:
        """Create the instance and begin to go on with it; says whether there was none before."""
        ...

    async def come_to_rest(self) -> None:
        """Wait for what was begun."""
        ...


class PlannedStarts:
    """Starts the planned occurrences of schedules, whichever node planned them.

    Args:
        patience: how long what only nodes of another version can start is left to them.
    """

    def __init__(
        self, journal: Journal, starts: Starts, *, clock: Clock, patience: timedelta, reports: Reports
    ) -> None:
        self._journal = journal
        self._starts = starts
        self._clock = clock
        self._patience = patience
        self._reports = reports

    def instants(self, row: ScheduleRow) -> Iterator[datetime]:
        """When what is planned can be started here."""
        for fire in row.planned:
            is_ours = self._starts.has(row.flow_id, fire.flow_version)
            yield fire.release_at if is_ours else fire.release_at + self._patience

    async def start_released(self, row: ScheduleRow, scheduled: Scheduled | None) -> tuple[ScheduleRow, int]:
        """Start what is released; gives the row as it is then, and how many instances this created.

        Raises:
            JournalUnavailable: what was not noted is started again later, and found started.
        """
        now = self._clock.now()
        released = [fire for fire in row.planned if fire.release_at <= now]
        ours = [fire for fire in released if self._starts.has(row.flow_id, fire.flow_version)]
        left_behind = [fire for fire in released if fire not in ours and now - fire.release_at >= self._patience]
        done: set[PlannedFire] = set()
        instead: list[PlannedFire] = []
        created = 0
        try:
            for first in range(0, len(ours), _AT_A_TIME):
                group = ours[first : first + _AT_A_TIME]
                answers = await asyncio.gather(*[self._start(row, fire) for fire in group], return_exceptions=True)
                done.update(fire for fire, answer in zip(group, answers, strict=True) if isinstance(answer, bool))
                created += answers.count(True)
                for fire, answer in zip(group, answers, strict=True):
                    self._look_at(answer, row, fire)
            for fire in left_behind:
                # The nodes that had its version are gone. What they did not start falls to the version here.
                if await self._journal.read(_instance(row, fire)) is not None:
                    done.add(fire)
                elif scheduled is not None and scheduled.version != fire.flow_version:
                    done.add(fire)
                    instead.append(replace(fire, flow_version=scheduled.version))
        finally:
            if done:
                row = await self._note(row, done, instead)
        if instead:
            row, more = await self.start_released(row, scheduled)
            created += more
        return row, created

    async def _start(self, row: ScheduleRow, fire: PlannedFire) -> bool:
        return await self._starts.start(row, fire, _instance(row, fire))

    @staticmethod
    def _look_at(answer: object, row: ScheduleRow, fire: PlannedFire) -> None:
        """One occurrence that cannot start must not keep the later ones from it; a journal that is away does."""
        if isinstance(answer, JournalUnavailable):
            raise answer
        if isinstance(answer, BaseException):
            _LOG.error(
                "%s of %s could not be started and is tried again", fire.occurrence_at, named(row.key), exc_info=answer
            )

    async def _note(
        self, row: ScheduleRow, done: Collection[PlannedFire], instead: Collection[PlannedFire]
    ) -> ScheduleRow:
        """Take what was started off the list, whatever others have made of the row since it was read."""
        while True:
            noted = [fire for fire in row.planned if fire in done]
            if not noted:
                return row
            left = [fire for fire in row.planned if fire not in done]
            moved = [fire for fire in instead if any(fire.occurrence_at == other.occurrence_at for other in noted)]
            fired = len(noted) - len(moved)
            saved = replace(row, planned=(*left, *moved), fired=row.fired + fired)
            if await self._journal.save_schedule(saved):
                self._reports.fired(row, fired)
                return replace(saved, revision=saved.revision + 1)
            found = {each.key: each for each in await self._journal.schedules([row.flow_id])}
            row = found.get(row.key, replace(row, planned=()))


def _instance(row: ScheduleRow, fire: PlannedFire) -> UUID:
    return occurrence_id(row.flow_id, row.first_version, row.cron, row.time_zone, fire.occurrence_at)
