"""Lets so many steps begin in a period."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from flowx_runtime.authoring.durations import duration
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.policies import RateLimit
from flowx_runtime.authoring.vocabulary import Category


class RateLimited(FlowError, code="capability.rate_limited", category=Category.UNAVAILABLE):
    """More steps than the policy lets through want to begin."""


class TokenBucket:
    """Holds up to `permits`, and gets one back in each `per / permits`."""

    def __init__(self, policy: RateLimit, monotonic: Callable[[], float]) -> None:
        self._capacity = float(policy.permits)
        self._gap = duration(policy.per).total_seconds() / policy.permits
        self._monotonic = monotonic
        self._tokens = self._capacity
        self._counted_at = monotonic()

    def take(self) -> timedelta:
        """Take a permit; gives how long until there will be one if there is none, and takes nothing then."""
        now = self._monotonic()
        self._tokens = min(self._capacity, self._tokens + (now - self._counted_at) / self._gap)
        self._counted_at = now
        if self._tokens >= 1.0 - 1e-9:
            self._tokens -= 1.0
            return timedelta(0)
        return timedelta(seconds=(1.0 - self._tokens) * self._gap)
