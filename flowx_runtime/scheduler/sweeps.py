"""Finds instances that may go on: due by the clock, signalled, or left behind by a node that died."""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, Protocol
from uuid import UUID

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.clock import Clock
from flowx_runtime.engine.failures import told_to_log
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.records import Claimed, State
from flowx_runtime.journal.setbacks import NODE_LOST
from flowx_runtime.scheduler.setbacks import Setbacks, is_lost_over, why

_LOG = logging.getLogger("flowx.scheduler")

_PAGE: Final = 256
_JITTER: Final = 0.25
"""Nodes that started together must not sweep together for ever."""

_STANDSTILL: Final = 1.0
"""Seconds. A turn of the event loop that takes less is no reason to leave what was claimed, however short a lease."""

_SHORTEST_REST: Final = 0.02
"""Seconds. Instances that fall due one after the other within it are taken up in one sweep."""


class Runs(Protocol):
    """Whoever can go on with an instance."""

    def can_run(self, claimed: Claimed) -> bool: ...

    async def go_on(self, claimed: Claimed) -> object: ...


class Sweeps:
    """The timer sweep and the recovery sweep of one node.

    The interval is a backstop: what this process itself parks for less than that it remembers, and wakes for. There
    is a task for an instance only while it is gone on with; one that takes long keeps no other from its turn.
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
        concurrency: int,
        random: Random,
        on_woken: Callable[[timedelta], None] = lambda _: None,
    ) -> None:
        self._on_woken = on_woken
        self._journal = journal
        self._runs = runs
        self._clock = clock
        self._owner = owner
        self._lease_ttl = lease_ttl
        self._plans = plans
        self._interval = interval
        self._concurrency = concurrency
        self._random = random
        self._near: list[datetime] = []
        self._going_on: set[asyncio.Task[None]] = set()
        self._setbacks = Setbacks()
        self._woken = asyncio.Event()
        self._is_hinted = False
        self._stopping = asyncio.Event()

    def hint(self) -> None:
        """There may be work right now."""
        self._is_hinted = True
        self._woken.set()

    def expect(self, wake_at: datetime) -> None:
        """Something was parked until then; remembered only if the next sweep would come later."""
        if wake_at - self._clock.now() < self._interval:
            heapq.heappush(self._near, wake_at)
            if self._near[0] == wake_at:
                self._woken.set()

    async def sweep_once(self) -> int:
        """Go on with everything that may go on now, until it rests; gives how many instances were taken up."""
        due = await self._take_up(self._claim_due)
        await self.come_to_rest()
        abandoned = await self._take_over()
        await self.come_to_rest()
        return due + abandoned

    async def run(self, stopping: asyncio.Event) -> None:
        """Sweep until told to stop; what is under way then comes to rest first. Nothing is taken up after that."""
        self._stopping = stopping
        while not stopping.is_set():
            try:
                await self._take_up(self._claim_due)
                await self._take_over()
            except JournalUnavailable as unavailable:
                _LOG.warning("the journal cannot be reached, trying again in %s: %s", self._interval, unavailable)
            except Exception:  # a sweep that died would leave every parked instance parked
                _LOG.exception("a sweep failed; the next one comes in %s", self._interval)
            await self._rest(stopping)
        await self.come_to_rest()

    async def _rest(self, stopping: asyncio.Event) -> None:
        """Wait for the next full sweep; take up what falls due here until then."""
        loop = asyncio.get_running_loop()
        interval = self._interval.total_seconds() * (1 + self._random.uniform(-_JITTER, _JITTER))
        next_sweep = loop.time() + interval
        stopped = asyncio.ensure_future(stopping.wait())
        try:
            while not stopping.is_set() and not self._is_hinted and loop.time() < next_sweep:
                if self._near and self._near[0] <= self._clock.now():
                    self._forget_due()
                    await self._take_up(self._claim_due)
                await self._wait_for_more(stopped, next_sweep - loop.time())
            self._is_hinted = False
        except JournalUnavailable as unavailable:
            _LOG.warning("the journal cannot be reached, trying again: %s", unavailable)
            await asyncio.wait([stopped], timeout=interval)
        except Exception:  # as in `run`
            _LOG.exception("what fell due could not be taken up, trying again in %s", self._interval)
            await asyncio.wait([stopped], timeout=interval)
        finally:
            stopped.cancel()

    async def _wait_for_more(self, stopped: asyncio.Future[Any], longest: float) -> None:
        self._woken.clear()
        if self._is_hinted:
            return
        pause = longest
        if self._near:
            until_due = (self._near[0] - self._clock.now()).total_seconds()
            pause = min(pause, max(until_due, _SHORTEST_REST))
        woken: asyncio.Future[Any] = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([woken, stopped], timeout=max(pause, 0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    def _forget_due(self) -> None:
        now = self._clock.now()
        while self._near and self._near[0] <= now:
            heapq.heappop(self._near)

    async def _take_over(self) -> int:
        """Take up what others have left."""
        return await self._take_up(self._claim_abandoned, self._to_be_taken_over)

    async def _take_up(
        self,
        claim: Callable[[int], Awaitable[Sequence[Claimed]]],
        chosen: Callable[[list[Claimed]], Awaitable[list[Claimed]]] | None = None,
    ) -> int:
        """Claim page by page and begin to go on with each; what this node cannot run is given back at the end."""
        seen: set[UUID] = set()
        not_ours: list[Claimed] = []
        try:
            while not self._stopping.is_set():
                room = await self.room()
                if self._stopping.is_set():
                    break
                asked = time.monotonic()
                page = await claim(room)
                if self._stopping.is_set():  # a peer may go on with these for longer than this node is there
                    not_ours += page
                    break
                fresh = [claimed for claimed in page if claimed.lease.instance_id not in seen]
                seen.update(claimed.lease.instance_id for claimed in fresh)
                runnable = [claimed for claimed in fresh if self._may_go_on(claimed)]
                if chosen is not None and runnable:
                    runnable = await chosen(runnable)
                ours = {claimed.lease.instance_id for claimed in runnable}
                # Given back now, these would fill every further page.
                not_ours += [claimed for claimed in page if claimed.lease.instance_id not in ours]
                for claimed in runnable:
                    self._tell_how_late(claimed)
                    self.begin(claimed, leased_since=asked)
                if not fresh or len(page) < room:
                    break
            return len(seen)
        finally:
            for claimed in not_ours:
                await self._journal.release(claimed.lease.instance_id, fencing_token=claimed.lease.fencing_token)

    async def _to_be_taken_over(self, left: list[Claimed]) -> list[Claimed]:
        """Those that are gone on with now, noted as taken over.

        An instance whose step ends its process ends the next one too. It is taken over twice at once, then later and
        later, so that no fleet is lost over it.
        """
        begun = [each for each in left if each.history.instance.state is not State.PENDING]
        try:
            asked_at = {each.lease.instance_id: each.lease.expires_at - self._lease_ttl for each in begun}
            known = await self._journal.setbacks(list(asked_at)) if asked_at else ()
            lost_over = {each.instance_id for each in known if is_lost_over(each, asked_at[each.instance_id])}
            # What cannot go on for another reason keeps that one.
            unsaid = asked_at.keys() - {each.instance_id for each in known if each.code != NODE_LOST} - lost_over
        except FlowxError as unavailable:  # they are claimed, and would be nobody's until their leases run out
            _LOG.warning("what is taken over was not looked up: %s", unavailable)
            return left
        await asyncio.gather(*[self._note_taken_over(each) for each in begun if each.lease.instance_id in unsaid])
        for instance_id in lost_over:
            _LOG.warning("instance %s is left for a while: one process after the other was lost over it", instance_id)
        return [each for each in left if each.lease.instance_id not in lost_over]

    async def _note_taken_over(self, claimed: Claimed) -> None:
        instance_id = claimed.lease.instance_id
        _LOG.info("takes instance %s of %s over", instance_id, claimed.history.instance.flow_id)
        await self._note(
            instance_id, NODE_LOST, "the process that worked on it ended before it had written another step"
        )

    async def room(self) -> int:
        """Wait until this node can go on with one more instance; gives how many it can take at once."""
        while len(self._going_on) >= self._concurrency:
            await asyncio.wait(self._going_on, return_when=asyncio.FIRST_COMPLETED)
        return min(_PAGE, self._concurrency - len(self._going_on))

    def begin(self, claimed: Claimed, *, leased_since: float | None = None) -> None:
        """Go on with an instance that this node holds the lease of, and do not wait for it.

        Args:
            claimed: the instance.
            leased_since: the monotonic clock when its lease was asked for; `None`: just now.
        """
        since = time.monotonic() if leased_since is None else leased_since
        task = asyncio.create_task(self._go_on(claimed, since + max(self._lease_ttl.total_seconds(), _STANDSTILL)))
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)

    async def come_to_rest(self) -> None:
        """Wait for everything that was begun."""
        while self._going_on:
            under_way = set(self._going_on)
            await asyncio.gather(*under_way)
            # Where all had ended, waiting gave their callbacks no turn.
            self._going_on -= under_way

    def _may_go_on(self, claimed: Claimed) -> bool:
        is_left_alone = self._setbacks.is_left_alone(claimed.lease.instance_id, self._clock.now())
        return not is_left_alone and self._runs.can_run(claimed)

    def _tell_how_late(self, claimed: Claimed) -> None:
        late = [self._clock.now() - wait.wake_at for wait in claimed.history.instance.waits]
        if late and max(late) >= timedelta(0):
            self._on_woken(max(late))

    async def _go_on(self, claimed: Claimed, leased_until: float) -> None:
        instance_id = claimed.lease.instance_id
        if time.monotonic() >= leased_until:
            # The answer was long on its way, or this process stood still. Others may have gone on with it meanwhile.
            _LOG.warning(
                "the lease on instance %s had run out before its turn came; it is left for recovery", instance_id
            )
            return
        try:
            await self._runs.go_on(claimed)
        except JournalUnavailable as unavailable:
            _LOG.warning("instance %s is left for recovery: %s", instance_id, unavailable)
        except Exception as error:  # one instance must not keep the others from going on
            await self.set_back(claimed, error)
        else:
            self._setbacks.forget(instance_id)

    async def set_back(self, claimed: Claimed, error: Exception) -> None:
        """Leave an instance alone for a while that could not go on, and keep why."""
        instance_id = claimed.lease.instance_id
        gap = self._setbacks.note(instance_id, self._clock.now())
        _LOG.error(
            "instance %s of %s could not go on; it is left as it is for %s\n%s",
            instance_id,
            claimed.history.instance.flow_id,
            gap,
            told_to_log(error, ()),
        )
        await self._note(instance_id, *why(error))

    async def _note(self, instance_id: UUID, code: str, detail: str) -> None:
        """Keep why an instance stands still, if that can be kept."""
        try:
            await self._journal.note_setback(instance_id, code=code, detail=detail, node=self._owner)
        except FlowxError as unavailable:
            _LOG.warning("why instance %s could not go on was not kept: %s", instance_id, unavailable)

    async def _claim_due(self, limit: int) -> Sequence[Claimed]:
        return await self._journal.claim_due(
            now=self._clock.now(), owner=self._owner, ttl=self._lease_ttl, limit=limit, plans=self._plans
        )

    async def _claim_abandoned(self, limit: int) -> Sequence[Claimed]:
        return await self._journal.claim_abandoned(
            owner=self._owner, ttl=self._lease_ttl, limit=limit, plans=self._plans
        )
