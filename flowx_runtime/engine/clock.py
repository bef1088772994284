"""The engine's one source of time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


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
