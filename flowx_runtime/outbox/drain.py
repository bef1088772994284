"""Takes staged events from the journal to a publisher."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from random import Random
from typing import Final
from uuid import UUID

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.outbox import ClaimedEvent, EventClaim, Outbox
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.failing import failed_try, log_failed_try
from flowx_runtime.outbox.publisher import Closing, Publisher
from flowx_runtime.outbox.settings import PublishCounts, Publishing
from flowx_runtime.outbox.settling import Settling

_LOG = logging.getLogger("flowx.outbox")

_JITTER: Final = 0.25
"""Nodes that started together must not look together for ever."""

_SHORTEST_REST: Final = 0.02
"""Seconds. Events that are staged one after the other within it are taken in one claim."""

_ENOUGH_TO_TELL: Final = 4
"""Instances. One or two that find nobody may be to blame themselves."""

_LONGEST_SILENCE: Final = 15.0
"""Seconds between two tries while nobody is there: what comes then waits no longer for the receiver to be back."""

_LAST_WORDS: Final = 5.0
"""Seconds for noting, on the way out, what was published."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim with the last instant, by the monotonic clock, at which a publish may begin."""

    claim_id: UUID
    begin_until: float


class Drain:
    """The publishing of one node.

    Instances are taken up side by side, an instance's events one after the other. No transaction is open and no row
    locked while the publisher works: an instance is claimed for a term, and no publish begins that could outlast it.

    Args:
        outbox: where events are staged; the journal.
        publisher: where they go.
        owner: this node's name in claims.
        settings: how fast, how patient.
        random: where jitter comes from.
    """

    def __init__(
        self,
        outbox: Outbox,
        publisher: Publisher,
        *,
        owner: str,
        settings: Publishing | None = None,
        random: Random | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._owner = owner
        self._settings = settings or Publishing()
        self._random = random or Random()
        self._monotonic = monotonic
        self._settling = Settling(outbox)
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._at_work: set[asyncio.Task[None]] = set()
        self._in_hand = 0
        self._unanswered: set[UUID] = set()
        """The instances with an event that found nobody, since the last that found somebody."""
        self._probes = 0
        self._is_stopping = False
        self._woken = asyncio.Event()
        self._freed = asyncio.Event()
        self.counts = PublishCounts()

    def hint(self) -> None:
        """There may be events right now."""
        self._woken.set()

    async def drain_once(self) -> int:
        """Publish everything that may be published now; gives how many events were.

        Raises:
            JournalUnavailable: the journal cannot be asked.
        """
        before = self.counts.published
        while True:
            self._woken.clear()
            claim = await self._take_up()
            await self._come_to_rest()
            if self._is_down or not claim.events:
                return self.counts.published - before

    async def run(self, stopping: asyncio.Event) -> None:
        """Publish until told to stop, then what is staged by that time, and close the publisher."""
        try:
            while not stopping.is_set():
                self._woken.clear()
                try:
                    await self._take_up_what_there_is(stopping)
                except JournalUnavailable as unavailable:
                    _LOG.warning("events cannot be read, trying again in %s: %s", self._settings.interval, unavailable)
                except Exception:  # a loop that died would leave every event where it is
                    _LOG.exception("a look for events failed; the next one comes in %s", self._settings.interval)
                await self._rest(stopping)
            try:
                await self._finish()
            except JournalUnavailable as unavailable:
                _LOG.warning("left before all events were published, as the journal is away: %s", unavailable)
            except Exception:
                _LOG.exception("left before all events were published")
        finally:
            await self._stop()

    @property
    def _is_down(self) -> bool:
        """Whether events of so many instances in a row found nobody that the next ones need not be tried at once.

        Of instances, not of tries: an event that always brings the receiver down must not keep others waiting.
        """
        return len(self._unanswered) >= max(self._settings.concurrency, _ENOUGH_TO_TELL)

    async def _take_up_what_there_is(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            is_probe = self._is_down
            claim = await self._take_up()
            if is_probe:
                await self._come_to_rest()
            if self._is_down or len(claim.events) < (1 if is_probe else self._settings.batch // 2):
                return

    async def _take_up(self) -> EventClaim:
        """Claim as much as fits into the hand and begin to publish it."""
        while self._in_hand > self._settings.batch // 2:
            self._freed.clear()
            await self._freed.wait()
        # One try finds out whether anybody is there again.
        is_probe = self._is_down
        room = 1 if is_probe else self._settings.batch - self._in_hand
        asked = self._monotonic()
        claim = await self._outbox.claim_events(
            owner=self._owner,
            ttl=self._settings.claim_ttl,
            limit=room,
            per_instance=1 if is_probe else self._settings.per_instance,
        )
        term = (self._settings.claim_ttl - self._settings.timeout).total_seconds()
        held = _Claim(claim.claim_id, asked + term)
        for instance_id, events in groupby(claim.events, key=lambda claimed: claimed.instance_id):
            self._begin(held, instance_id, list(events), is_probe=is_probe)
        return claim

    def _begin(self, claim: _Claim, instance_id: UUID, events: list[ClaimedEvent], *, is_probe: bool) -> None:
        self._in_hand += len(events)
        work = asyncio.create_task(self._publish_in_order(claim, instance_id, events, is_probe=is_probe))
        self._at_work.add(work)

        def done(task: asyncio.Task[None]) -> None:
            self._at_work.discard(task)
            self._in_hand -= len(events)
            self._freed.set()
            if not task.cancelled() and task.exception() is not None:
                _LOG.error(
                    "the events of instance %s are left for another claim", instance_id, exc_info=task.exception()
                )

        work.add_done_callback(done)

    async def _publish_in_order(
        self, claim: _Claim, instance_id: UUID, events: list[ClaimedEvent], *, is_probe: bool
    ) -> None:
        try:
            for event in events:
                async with self._slots:
                    if self._monotonic() > claim.begin_until:
                        self.hint()  # the rest is to be claimed again
                        return
                    if self._is_down and not is_probe:
                        return
                    goes_on = await self._try(claim, event)
                if not goes_on:
                    return
            if len(events) >= self._settings.per_instance:
                self.hint()  # there may be more of them
        finally:
            self._settling.released(instance_id, claim.claim_id)

    async def _try(self, claim: _Claim, claimed: ClaimedEvent) -> bool:
        """Publish one event; whether the next one of its instance may go."""
        try:
            async with asyncio.timeout(self._settings.timeout.total_seconds()):
                await self._publisher.publish(Envelope.of(claimed))
        except Exception as error:
            return self._note_failure(claim, claimed, error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            task = asyncio.current_task()
            is_cancelled = task is not None and task.cancelling() > 0
            if is_cancelled and self._is_stopping:
                raise
            # Nobody here cancels this publish. Left alone, it would be tried for ever and never be counted.
            defect = RuntimeError(f"the publisher let {type(error).__name__} out")
            defect.__cause__ = error
            goes_on = self._note_failure(claim, claimed, defect)
            if is_cancelled:
                raise
            return goes_on
        self._unanswered.clear()
        self._settling.published(claimed.instance_id, claimed.event.event_id)
        self.counts = replace(self.counts, published=self.counts.published + 1)
        return True

    def _note_failure(self, claim: _Claim, claimed: ClaimedEvent, error: Exception) -> bool:
        """Whether the event was set aside, so that the next one may go."""
        failed = failed_try(
            claimed, error, claim_id=claim.claim_id, settings=self._settings, draw=self._random.random()
        )
        log_failed_try(claimed, failed)
        if failed.is_refusal:
            self._unanswered.clear()
        else:
            self._unanswered.add(claimed.instance_id)
        self._settling.failed(failed)
        self.counts = replace(
            self.counts, failed=self.counts.failed + 1, poisoned=self.counts.poisoned + failed.is_poison
        )
        return failed.is_poison

    async def _rest(self, stopping: asyncio.Event) -> None:
        """Wait for a hint, the interval, or the end; longer, and for no hint, while nobody is there."""
        longest = self._settings.interval.total_seconds() * (1 + self._random.uniform(-_JITTER, _JITTER))
        if self._is_down:
            gap = self._settings.backoff.gap(self._probes, draw=self._random.random()).total_seconds()
            self._probes += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), min(max(gap, _SHORTEST_REST), _LONGEST_SILENCE))
            return
        self._probes = 0
        stopped = asyncio.ensure_future(stopping.wait())
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([stopped, woken], timeout=longest, return_when=asyncio.FIRST_COMPLETED)
            if not stopped.done() and woken.done():
                await asyncio.sleep(_SHORTEST_REST)
        finally:
            stopped.cancel()
            woken.cancel()

    async def _come_to_rest(self) -> None:
        while self._at_work:
            await asyncio.wait(set(self._at_work))
        await self._settling.flush()

    async def _finish(self) -> None:
        """Publish what was staged before now; nodes that stay may go on staging."""
        cutoff: datetime | None = None
        while not self._is_down:
            await self._come_to_rest()
            claim = await self._take_up()
            cutoff = cutoff or claim.claimed_at
            if not any(event.occurred_at <= cutoff for event in claim.events):
                break
        await self._come_to_rest()

    async def _stop(self) -> None:
        self._is_stopping = True
        working = set(self._at_work)
        for work in working:
            work.cancel()
        if working:
            _, stuck = await asyncio.wait(working, timeout=_LAST_WORDS)
            if stuck:
                name = type(self._publisher).__name__
                _LOG.error("left though %s publishes of %s would not stop when they were cancelled", len(stuck), name)
        await self._settling.stop(within=_LAST_WORDS)
        if isinstance(self._publisher, Closing):
            await self._close(self._publisher)

    async def _close(self, publisher: Closing) -> None:
        closing = asyncio.create_task(publisher.close(), name="flowx publisher closing")
        try:
            await asyncio.wait([closing], timeout=_LAST_WORDS)
        finally:
            if not closing.done():
                closing.cancel()
                _LOG.error("left though %s was not closed in time", type(publisher).__name__)
        if closing.done() and not closing.cancelled() and closing.exception() is not None:
            # It is the end, and everything that could be published is.
            _LOG.warning("%s could not be closed: %r", type(publisher).__name__, closing.exception())
