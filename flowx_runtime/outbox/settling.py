"""Writes down how publishing went: what comes up while one statement is on its way shares the next."""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from uuid import UUID

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.outbox import FailedTry, Outbox, Settlement

_LOG = logging.getLogger("flowx.outbox")

_GATHER: Final = 0.01
"""Seconds. A process that is killed repeats, at most, what it published in this time and one round trip."""

_PAUSE: Final = 0.5
"""Seconds between tries while the journal cannot be reached."""


class Settling:
    """Notes are kept in order, so that an instance is released after what was said of its events."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._published: list[tuple[UUID, UUID]] = []
        self._failed: list[FailedTry] = []
        self._released: list[tuple[UUID, UUID]] = []
        self._writer: asyncio.Task[None] | None = None

    def published(self, instance_id: UUID, event_id: UUID) -> None:
        """Note that an event was published."""
        self._published.append((instance_id, event_id))
        self._begin()

    def failed(self, failed: FailedTry) -> None:
        """Note that a try failed."""
        self._failed.append(failed)
        self._begin()

    def released(self, instance_id: UUID, claim_id: UUID) -> None:
        """Note that an instance is no longer worked on."""
        self._released.append((instance_id, claim_id))
        self._begin()

    async def flush(self) -> None:
        """Wait until everything noted is written; for as long as the journal is away."""
        while self._writer is not None:
            await asyncio.shield(self._writer)

    async def stop(self, *, within: float) -> None:
        """Write what is noted, if that can be done in so many seconds."""
        try:
            await asyncio.wait_for(self.flush(), within)
        except TimeoutError:
            _LOG.warning("it could not be noted that %s events were published: they are repeated", len(self._published))
            if self._writer is not None:
                self._writer.cancel()

    def _begin(self) -> None:
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all(), name="flowx outbox settling")

    async def _write_all(self) -> None:
        try:
            while self._published or self._failed or self._released:
                await asyncio.sleep(_GATHER)
                await self._write()
        finally:
            # Here, and not when the task is seen to be done: whoever waits must never meet one that has ended.
            self._writer = None

    async def _write(self) -> None:
        settlement = Settlement(tuple(self._published), tuple(self._failed), tuple(self._released))
        while True:
            try:
                await self._outbox.settle_events(settlement)
                break
            except JournalUnavailable as unavailable:
                _LOG.warning("what was published could not be noted, trying again: %s", unavailable)
            except Exception:  # given up, all of it would be published again
                _LOG.exception("what was published could not be noted, trying again")
            await asyncio.sleep(_PAUSE)
        del self._published[: len(settlement.published)]
        del self._failed[: len(settlement.failed)]
        del self._released[: len(settlement.released)]
