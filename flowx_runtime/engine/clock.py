"""The engine's one source of time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

Pause: TypeAlias = Callable[[timedelta], Awaitable[None]]
"""Lets other work run for a while; tests give one that does not wait."""


class Clock(Protocol):
    """Tells the time by which waits are recorded and deadlines judged."""

    def now(self) -> datetime:
        """The present instant, timezone-aware."""
        ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> datetime:
        return datetime.now(UTC)


async def pause_for_real(duration: timedelta) -> None:
    """Sleep on the event loop."""
    await asyncio.sleep(duration.total_seconds())
