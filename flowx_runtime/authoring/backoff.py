"""How long to wait between two attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum

from flowx_runtime.authoring.durations import duration

_MAX_DOUBLINGS = 62
"""Beyond this a doubled gap exceeds any ceiling; the exponent is held to keep the arithmetic in range."""


class Growth(Enum):
    """How the gap between attempts grows."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    EXPONENTIAL_JITTER = "exponential_jitter"


@dataclass(frozen=True, slots=True)
class Backoff:
    """A schedule of gaps between attempts. Build one with the three factories below."""

    growth: Growth
    base: timedelta
    """The first gap (with jitter: its upper bound)."""
    ceiling: timedelta
    """No gap is longer than this."""
    attempts: int | None = None
    """How many attempts there may be in all; `None` leaves the bound to a budget."""

    def __post_init__(self) -> None:
        if self.base <= timedelta(0):
            raise ValueError(f"the first gap of a backoff must be positive, not {self.base}")
        if self.ceiling < self.base:
            raise ValueError(f"the ceiling {self.ceiling} of a backoff is below its first gap {self.base}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"a backoff allows at least one attempt, not {self.attempts}")

    @classmethod
    def fixed(cls, gap: str | timedelta) -> Backoff:
        """Wait the same gap every time. Instances parked together wake together: prefer jitter."""
        return cls(Growth.FIXED, duration(gap), duration(gap))

    @classmethod
    def exponential(cls, base: str | timedelta, ceiling: str | timedelta = "P1D") -> Backoff:
        """Double the gap from `base` up to `ceiling`."""
        return cls(Growth.EXPONENTIAL, duration(base), duration(ceiling))

    @classmethod
    def exponential_jitter(cls, base: str | timedelta, ceiling: str | timedelta = "P1D") -> Backoff:
        """Double the gap, then draw uniformly between nothing and it (full jitter)."""
        return cls(Growth.EXPONENTIAL_JITTER, duration(base), duration(ceiling))

    def max_attempts(self, attempts: int) -> Backoff:
        """The same schedule, bounded to `attempts` attempts in all."""
        return replace(self, attempts=attempts)

    @property
    def has_jitter(self) -> bool:
        """Whether two instances parked at one instant wake at different ones."""
        return self.growth is Growth.EXPONENTIAL_JITTER

    def gap(self, attempt: int, *, draw: float) -> timedelta:
        """The wait after attempt number `attempt` (from 0), given a `draw` from [0, 1).

        The draw is an argument so that the caller owns the randomness; only jitter uses it.
        """
        if self.growth is Growth.FIXED:
            return self.base
        try:
            longest = min(self.ceiling, self.base * (1 << min(attempt, _MAX_DOUBLINGS)))
        except OverflowError:
            longest = self.ceiling
        return longest * draw if self.has_jitter else longest
