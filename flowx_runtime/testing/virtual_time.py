"""Time that stands still until it is moved, and then jumps from one recorded instant to the next."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import TracebackType
from typing import Final, TypeAlias

BEGINNING: Final = datetime(2030, 1, 1, 9, tzinfo=UTC)
"""Where the clock of a test host stands at first."""


@dataclass(order=True, slots=True)
class Timer:
    """Something that happens when the clock reaches an instant."""

    at: datetime
    order: int
    fire: Callable[[], object] = field(compare=False)
    is_live: bool = field(default=True, compare=False)

    def cancel(self) -> None:
        """Let it not happen; a clock does not stop for it any more."""
        self.is_live = False


class VirtualClock:
    """Tells a time of its own; whoever sleeps on it sleeps until it is moved."""

    def __init__(self, beginning: datetime = BEGINNING) -> None:
        self._now = beginning
        self._timers: list[Timer] = []
        self._made = 0

    def now(self) -> datetime:
        """The present instant."""
        return self._now

    def time(self) -> float:
        """The present instant in seconds since 1970: for stand-ins that are built with a `time.time`."""
        return self._now.timestamp()

    def monotonic(self) -> float:
        """Seconds since the clock's beginning of time; it never goes back."""
        return self._now.timestamp()

    def call_at(self, at: datetime, fire: Callable[[], object]) -> Timer:
        """Have something happen when the clock reaches an instant."""
        self._made += 1
        timer = Timer(at, self._made, fire)
        heapq.heappush(self._timers, timer)
        return timer

    def next_timer(self) -> datetime | None:
        """The first instant at which something is to happen."""
        while self._timers and not self._timers[0].is_live:
            heapq.heappop(self._timers)
        return self._timers[0].at if self._timers else None

    def move_to(self, instant: datetime) -> None:
        """Go forward, never back, and let happen what was due on the way."""
        while (due := self.next_timer()) is not None and due <= instant:
            timer = heapq.heappop(self._timers)
            self._now = max(self._now, timer.at)
            timer.is_live = False
            timer.fire()
        self._now = max(self._now, instant)


CallAfter: TypeAlias = Callable[[timedelta, Callable[[], object]], Timer]


class VirtualLimit:
    """A block that may take so long by a virtual clock."""

    def __init__(self, call_after: CallAfter, duration: timedelta) -> None:
        self._call_after = call_after
        self._duration = duration
        self._bound = asyncio.timeout(None)
        self._timer: Timer | None = None

    async def __aenter__(self) -> VirtualLimit:
        await self._bound.__aenter__()
        self._timer = self._call_after(self._duration, self._end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._bound.__aexit__(kind, error, trace)

    def expired(self) -> bool:
        """Whether the time was up."""
        return self._bound.expired()

    def _end(self) -> None:
        self._bound.reschedule(asyncio.get_running_loop().time())


class DrawsByInstant(Random):
    """Draws that hang on the instant alone, so that a run that was interrupted draws what the other one drew."""

    def __init__(self, clock: VirtualClock, seed: int) -> None:
        super().__init__(seed)
        self._clock = clock
        self._seed = seed

    def random(self) -> float:
        """A number from [0, 1)."""
        return bits_of(64, self._seed, self._clock.now().isoformat()) / 2**64


def bits_of(count: int, *parts: object) -> int:
    """A number of so many bits (at most 256) that hangs on the parts alone."""
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest, "big") >> (256 - count)
