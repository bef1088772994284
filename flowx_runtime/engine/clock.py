"""The engine's one source of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Protocol, TypeAlias

Pause: TypeAlias = Callable[[timedelta], Awaitable[None]]
"""Lets other work run for a while; tests give one that does not wait."""


class Clock(Protocol):
    """Tells the time by which waits are recorded and deadlines judged."""

    def now(self) -> datetime:
        """The present instant, timezone-aware."""
        ...


class Limit(Protocol):
    """A block that may take so long: entered once, it ends what runs in it with `TimeoutError`."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...

    def expired(self) -> bool:
        """Whether the time was up, and not something inside the block."""
        ...


class Timers(Protocol):
    """Measures time inside one process: how long a call may take, how long a breaker stays open."""

    def monotonic(self) -> float:
        """Seconds since some instant; never goes back."""
        ...

    def limit(self, duration: timedelta) -> Limit:
        """A block that may take as long as this."""
        ...


class LoopTimers:
    """The event loop's timers."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def limit(self, duration: timedelta) -> Limit:
        return asyncio.timeout(duration.total_seconds())


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> datetime:
        return datetime.now(UTC)


async def pause_for_real(duration: timedelta) -> None:
    """Sleep on the event loop."""
    await asyncio.sleep(duration.total_seconds())
