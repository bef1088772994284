"""Named sets of policies that a step may carry. Their nesting is fixed by kind, never by order.

Rate limit, then Fallback { Retry { Hedge { CircuitBreaker { Bulkhead { Timeout { Cache { call } } } } } } }
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flowx_runtime.authoring.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after a failure that may pass (CONFLICT, UNAVAILABLE, INTERNAL)."""

    attempts: int
    """Attempts in all, the first included."""
    backoff: Backoff


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Stop calling after `failures` in a row; probe again after `reset_after`."""

    failures: int
    reset_after: str | timedelta


@dataclass(frozen=True, slots=True)
class Bulkhead:
    """At most `max_concurrent` calls in flight per process."""

    max_concurrent: int


@dataclass(frozen=True, slots=True)
class Fallback:
    """What stands in for an answer, once retry has given up.

    The step is then degraded: it counts as done, and is never undone. Not for a refusal by a rate limit, and not over
    side effects, which would be missing unnoticed.
    """

    value: Any = None
    """A constant of the capability's result contract."""
    capability: Any = None
    """Or a capability of the same contracts, without side effects, that is asked once instead."""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.capability is None):
            raise ValueError("a fallback is a value or a capability: give one of them")


@dataclass(frozen=True, slots=True)
class Hedge:
    """Ask a second time while the first call is still out, and take whichever answers first."""

    after: str | timedelta
    """How long to wait for an answer before another call is made."""
    calls: int = 2
    """Calls in all that may be out at once."""

    def __post_init__(self) -> None:
        if self.calls < 2:
            raise ValueError(f"a hedge makes at least two calls, not {self.calls}")


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most so many steps begin in a period, per process; bursts up to `permits`.

    A step of a durable flow waits for its turn, parked if that takes long. One in memory is refused with
    `capability.rate_limited` if its turn is more than a second away.
    """

    permits: int
    per: str | timedelta

    def __post_init__(self) -> None:
        if self.permits < 1:
            raise ValueError(f"a rate limit lets at least one step through, not {self.permits}")


@dataclass(frozen=True, slots=True)
class Cache:
    """Give an answer again for an equal request of the same principal, per process."""

    ttl: str | timedelta
    entries: int = 1024
    """How many answers are kept; those used longest ago go first."""

    def __post_init__(self) -> None:
        if self.entries < 1:
            raise ValueError(f"a cache keeps at least one answer, not {self.entries}")


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies for one step, kept as a module-level constant so that they have one name."""

    name: str
    timeout: str | timedelta | None = None
    """The longest one attempt may take. A capability that is a plain `def` is given up and not ended: its thread goes
    on, perhaps beside the next attempt."""
    retry: Retry | None = None
    circuit_breaker: CircuitBreaker | None = None
    bulkhead: Bulkhead | None = None
    fallback: Fallback | None = None
    hedge: Hedge | None = None
    rate_limit: RateLimit | None = None
    cache: Cache | None = None
    compensation_retry: Retry | None = None
