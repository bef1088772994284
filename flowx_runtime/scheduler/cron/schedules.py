"""The schedules of one node: decides what is due, has it stored, and starts it.

An occurrence goes through three writes: a *decision* moves on how far its schedule has been considered and lists the
occurrence as planned; the *start* creates its instance; a *note* takes it off the list. Of several nodes one makes the
decision; any of them may start what is planned, and the key of the instance settles who did. So a node that dies
between two of the writes leaves nothing undone, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeAlias

from flowx_runtime.engine.clock import Clock
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.pauses import holds
from flowx_runtime.journal.schedules import ScheduleRow
from flowx_runtime.plan.versions import precedence
from flowx_runtime.scheduler.cron.decisions import Decision, Scheduled, Terms, due, next_after
from flowx_runtime.scheduler.cron.planned import PlannedStarts, Starts
from flowx_runtime.scheduler.cron.registration import registration
from flowx_runtime.scheduler.cron.reports import Reports, named

_LOG = logging.getLogger("flowx.schedules")

_JITTER: Final = 0.25
_AT_A_TIME: Final = 16
"""Schedules of which one look decides and starts side by side: many fall due at a full hour."""

_SHORTEST_REST: Final = 0.02
_BUSY_MOMENT: Final = timedelta(seconds=5)
_DEFAULT_INTERVAL: Final = timedelta(seconds=10)

Rows: TypeAlias = dict[tuple[str, str, str], ScheduleRow]


class Schedules:
    """Fires the schedules of one node's flows.

    Args:
        journal: keeps how far each schedule was considered.
        starts: starts what is due.
        scheduled: the schedules, of the current version of each flow.
        versions: the current version of every flow of this node, with schedules or without.
        clock: by which occurrences fall due.
        interval: how often to look at the journal, at most; what falls due in between is met when it does.
        catch_up: how long after it was due an occurrence may still start.
        random: where the spread of the nodes comes from.
    """

    def __init__(
        self,
        journal: Journal,
        starts: Starts,
        scheduled: Collection[Scheduled],
        versions: Mapping[str, str],
        *,
        clock: Clock,
        interval: timedelta | None,
        catch_up: timedelta,
        random: Random,
    ) -> None:
        self._journal = journal
        self._starts = starts
        self._scheduled = {each.key: each for each in scheduled}
        self._versions = versions
        self._clock = clock
        self._interval = interval or _DEFAULT_INTERVAL
        # Two looks may pass, or a busy moment, before a node that is well has met an occurrence.
        self._terms = Terms(catch_up=catch_up, tolerance=max(2 * self._interval, _BUSY_MOMENT))
        self._patience = self._terms.tolerance + self._interval
        self._random = random
        self._is_registered = False
        self._known: dict[tuple[str, str, str], tuple[datetime, datetime]] = {}
        self._upcoming: datetime | None = None
        self.reports = Reports(catch_up)
        self._planned = PlannedStarts(journal, starts, clock=clock, patience=self._patience, reports=self.reports)

    @property
    def is_needed(self) -> bool:
        """Whether this node has anything to serve."""
        return bool(self._scheduled)

    async def try_to_register(self) -> None:
        """Make the journal know the schedules of this node: what is new begins now.

        Where the journal cannot be reached, the next `fire_due` does it.
        """
        try:
            await self._register()
        except JournalUnavailable as unavailable:
            _LOG.warning("schedules begin when the journal can be reached: %s", unavailable)

    async def _register(self) -> None:
        now = self._clock.now()
        rows = await self._journal.schedules(list(self._versions))
        wanted = registration(rows, self._scheduled.values(), self._versions, now)
        for row in wanted.saved:
            await self._journal.save_schedule(row)
        for row in wanted.removed:
            if await self._journal.remove_schedule(row):
                self.reports.no_longer_declared(row.key)
        self._is_registered = True
        for each in self._scheduled.values():
            self.reports.serving(each.key, self._next(each, now))

    async def fire_due(self) -> int:
        """Decide and start everything that is due now; gives how many instances this node started.

        What falls due while its flow is paused is missed, and met by its policy when that is over.

        Raises:
            JournalUnavailable: what was decided stays planned, and is started by whoever looks next.
        """
        rows = await self._rows()
        limit = asyncio.Semaphore(_AT_A_TIME)
        away: list[JournalUnavailable] = []

        async def attend(row: ScheduleRow) -> int:
            async with limit:
                if away:
                    return 0
                try:
                    rows[row.key], started = await self._attend(row)
                except JournalUnavailable as unavailable:
                    away.append(unavailable)
                except Exception:  # one schedule must not keep the others from firing
                    name = named(row.key)
                    _LOG.exception("the schedule %s was not served; the next look comes in %s", name, self._interval)
                else:
                    return started
                return 0

        busy = await self._not_paused([row for row in rows.values() if self._is_busy(row)])
        counts = await asyncio.gather(*[attend(row) for row in busy])
        if away:
            raise away[0]
        now = self._clock.now()
        self._upcoming = min((at for at in self._instants(rows, now) if at > now), default=None)
        return sum(counts)

    async def next_due(self) -> datetime | None:
        """The instant at which something has to be decided or started next; in the past where that is overdue."""
        rows = await self._rows()
        return min(self._instants(rows, None), default=None)

    async def _not_paused(self, rows: Sequence[ScheduleRow]) -> Sequence[ScheduleRow]:
        """Those that may fire; asks the journal only where there are any."""
        targets = {pause.target for pause in await self._journal.pauses()} if rows else ()
        return [row for row in rows if not holds(targets, row.flow_id)]

    async def run(self, stopping: asyncio.Event) -> None:
        """Fire until told to stop; what was begun then comes to rest first."""
        while not stopping.is_set():
            try:
                await self.fire_due()
            except JournalUnavailable as unavailable:
                _LOG.warning("schedules wait for the journal, trying again in %s: %s", self._interval, unavailable)
                self._upcoming = None
            except Exception:  # a loop that died would end every schedule of this node
                _LOG.exception("schedules could not be looked at; the next look comes in %s", self._interval)
                self._upcoming = None
            try:
                await asyncio.wait_for(stopping.wait(), self._rest())
            except TimeoutError:
                continue
        await self._starts.come_to_rest()

    def _rest(self) -> float:
        longest = self._interval.total_seconds() * (1 + self._random.uniform(-_JITTER, _JITTER))
        if self._upcoming is None:
            return longest
        return min(longest, max((self._upcoming - self._clock.now()).total_seconds(), _SHORTEST_REST))

    async def _rows(self) -> Rows:
        """Every row of this node's flows, in one statement."""
        if not self._is_registered:
            await self._register()
        return {row.key: row for row in await self._journal.schedules(list(self._versions))}

    def _is_busy(self, row: ScheduleRow) -> bool:
        scheduled = self._scheduled.get(row.key)
        return bool(row.planned) or (scheduled is not None and not self._decide(scheduled, row).is_nothing)

    async def _attend(self, row: ScheduleRow) -> tuple[ScheduleRow, int]:
        """Decide and start for one schedule until nothing more is due."""
        scheduled = self._scheduled.get(row.key)
        started = 0
        while True:
            row, count = await self._planned.start_released(row, scheduled)
            started += count
            if scheduled is None:
                return row, started  # another version's; what it planned is started all the same
            decision = self._decide(scheduled, row)
            if decision.is_nothing:
                return row, started
            decided = _after(row, scheduled, decision)
            if not await self._journal.save_schedule(decided):
                return row, started  # another node was first
            self.reports.decided(row, decision)
            row = replace(decided, revision=decided.revision + 1)

    def _decide(self, scheduled: Scheduled, row: ScheduleRow) -> Decision:
        now = self._clock.now()
        if row.considered_until <= now and self._first(scheduled, row, row.considered_until) > now:
            return Decision(row.considered_until)
        return due(scheduled, row, now, self._terms)

    def _instants(self, rows: Rows, not_before: datetime | None) -> list[datetime]:
        """When each schedule has something to decide or start."""
        instants = [at for row in rows.values() for at in self._planned.instants(row)]
        for key, scheduled in self._scheduled.items():
            row = rows.get(key)
            if row is None:
                self.reports.withdrawn(key)
                continue
            since = row.considered_until if not_before is None else max(row.considered_until, not_before)
            instants.append(self._first(scheduled, row, since))
        return instants

    def _first(self, scheduled: Scheduled, row: ScheduleRow, since: datetime) -> datetime:
        """When the first occurrence after an instant falls to this node."""
        # A newer version is there to fire it; only if it does not, it was taken back, or its nodes are down.
        is_left_to_newer = precedence(row.flow_version) > precedence(scheduled.version)
        return self._next(scheduled, since) + (self._patience if is_left_to_newer else timedelta(0))

    def _next(self, scheduled: Scheduled, instant: datetime) -> datetime:
        """As `next_after`, which walks far for a schedule that fires once a year."""
        known = self._known.get(scheduled.key)
        if known is None or not known[0] <= instant < known[1]:
            known = self._known[scheduled.key] = (instant, next_after(scheduled, instant))
        return known[1]


def _after(row: ScheduleRow, scheduled: Scheduled, decision: Decision) -> ScheduleRow:
    known = {fire.occurrence_at for fire in row.planned}
    return replace(
        row,
        flow_version=scheduled.version,
        considered_until=decision.considered_until,
        planned=(*row.planned, *(fire for fire in decision.fires if fire.occurrence_at not in known)),
        skipped=row.skipped + decision.skipped,
        lost=row.lost + decision.lost,
    )
