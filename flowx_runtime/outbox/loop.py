"""The publishing of a host, from when it is entered to when it is left."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from flowx_runtime.outbox.drain import Drain

_LOG = logging.getLogger("flowx.outbox")


class PublishingLoop:
    """A drain that runs in the background."""

    def __init__(self, drain: Drain) -> None:
        self.drain = drain
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Publish from now on."""
        self._running = asyncio.create_task(self.drain.run(self._stopping), name="flowx outbox")

    async def end(self, *, within: timedelta) -> None:
        """Publish what is staged by now, if that can be done in time; the rest is for others, or for later."""
        running, self._running = self._running, None
        if running is None:
            return
        self._stopping.set()
        await asyncio.wait([running], timeout=max(within.total_seconds(), 0))
        if not running.done():
            _LOG.warning("left before all events were published: other nodes, or the next start, publish them")
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)
