"""Finds instances that may go on: due by the clock, signalled, or left behind by a node that died."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Protocol
from uuid import UUID

from flowx_runtime.engine.clock import Clock
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.records import Claimed

_LOG = logging.getLogger("flowx.scheduler")

_PAGE = 64
_JITTER = 0.25


class Runs(Protocol):
    """Whoever can go on with an instance."""

    def can_run(self, claimed: Claimed) -> bool: ...

    async def go_on(self, claimed: Claimed) -> object: ...


class Sweeps:
    """Two sweeps in one loop: timers, and what was abandoned.

    The interval is a backstop. Whatever this process itself parks for less than that it remembers, and wakes for.
    """

    def __init__(
        self,
        journal: Journal,
        runs: Runs,
        *,
        clock: Clock,
        owner: str,
        lease_ttl: timedelta,
        plans: Collection[tuple[str, str]],
        interval: timedelta,
        random: Random,
    ) -> None:
        self._journal = journal
        self._runs = runs
        self._clock = clock
        self._owner = owner
        self._lease_ttl = lease_ttl
        self._plans = plans
        self._interval = interval
        self._random = random
        self._near: list[datetime] = []
        self._woken = asyncio.Event()

    def hint(self) -> None:
        """There may be work right now."""
        self._woken.set()

    def expect(self, wake_at: datetime) -> None:
        """Something was parked until then; remembered only if the next sweep would come later."""
        if wake_at - self._clock.now() < self._interval:
            heapq.heappush(self._near, wake_at)
            self._woken.set()

    async def sweep_once(self) -> int:
        """Go on with everything that may go on now; gives how many instances were taken up."""
        due = await self._pages(self._claim_due)
        return due + await self._pages(self._claim_abandoned)

    async def run(self, stopping: asyncio.Event) -> None:
        """Sweep until told to stop; what is under way then is finished."""
        while not stopping.is_set():
            self._woken.clear()
            try:
                await self.sweep_once()
            except JournalUnavailable as unavailable:
                _LOG.warning("the journal cannot be reached, trying again in %s: %s", self._interval, unavailable)
            except Exception:  # a sweep that died would leave every parked instance parked
                _LOG.exception("a sweep failed; the next one comes in %s", self._interval)
            await self._rest(stopping)

    async def _rest(self, stopping: asyncio.Event) -> None:
        now = self._clock.now()
        while self._near and self._near[0] <= now:
            heapq.heappop(self._near)
        pause = self._interval.total_seconds() * (1 + self._random.uniform(-_JITTER, _JITTER))
        if self._near:
            pause = min(pause, max(0.0, (self._near[0] - now).total_seconds()))
        waiting = [asyncio.ensure_future(self._woken.wait()), asyncio.ensure_future(stopping.wait())]
        try:
            await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiting:
                waiter.cancel()

    async def _pages(self, claim: Callable[[], Awaitable[Sequence[Claimed]]]) -> int:
        seen: set[UUID] = set()
        not_ours: list[Claimed] = []
        try:
            while True:
                page = await claim()
                fresh = [claimed for claimed in page if claimed.lease.instance_id not in seen]
                seen.update(claimed.lease.instance_id for claimed in fresh)
                runnable = [claimed for claimed in fresh if self._runs.can_run(claimed)]
                # What this node cannot run is held until the sweep is over: given back now, it would fill every page.
                not_ours += [claimed for claimed in page if claimed not in runnable]
                await asyncio.gather(*(self._go_on(claimed) for claimed in runnable))
                if not fresh or len(page) < _PAGE:
                    return len(seen)
        finally:
            for claimed in not_ours:
                await self._journal.release(claimed.lease.instance_id, fencing_token=claimed.lease.fencing_token)

    async def _go_on(self, claimed: Claimed) -> None:
        try:
            await self._runs.go_on(claimed)
        except JournalUnavailable as unavailable:
            _LOG.warning("instance %s is left for recovery: %s", claimed.lease.instance_id, unavailable)
        except Exception:  # one instance must not keep the others from going on
            _LOG.exception("instance %s could not go on", claimed.lease.instance_id)

    async def _claim_due(self) -> Sequence[Claimed]:
        return await self._journal.claim_due(
            now=self._clock.now(), owner=self._owner, ttl=self._lease_ttl, limit=_PAGE, plans=self._plans
        )

    async def _claim_abandoned(self) -> Sequence[Claimed]:
        return await self._journal.claim_abandoned(
            owner=self._owner, ttl=self._lease_ttl, limit=_PAGE, plans=self._plans
        )
