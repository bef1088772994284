"""Policies around a call, nested by kind and never by order.

    Hedge { CircuitBreaker { Bulkhead { Timeout { Cache { call } } } } }

Rate limit, retry and fallback lie outside these and belong to the step: what they decide is read from rows. Breakers,
bulkheads, caches and rate limits are per process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from datetime import timedelta
from typing import Any

from flowx_runtime.authoring.durations import duration
from flowx_runtime.authoring.policies import PolicySet
from flowx_runtime.engine.capabilities import Call, Capabilities
from flowx_runtime.engine.clock import LoopTimers, Timers
from flowx_runtime.engine.policies.breaker import Breaker, CircuitOpen, broken
from flowx_runtime.engine.policies.hedge import hedged
from flowx_runtime.engine.policies.rate_limit import RateLimited, TokenBucket
from flowx_runtime.engine.policies.timeout import CallTimedOut, timed
from flowx_runtime.plan.uses import CapabilityUse

__all__ = ["CallTimedOut", "CircuitOpen", "Guards", "RateLimited"]

_AT_ONCE = timedelta(0)


class Guards:
    """The calls of a host's capabilities inside the policies of the steps that use them."""

    def __init__(self, capabilities: Capabilities, timers: Timers | None = None) -> None:
        self._capabilities = capabilities
        self._timers = timers or LoopTimers()
        self._kept: dict[Hashable, Any] = {}
        """Breakers, bulkheads, caches and buckets, by capability and policy."""

    def admit(self, use: CapabilityUse, policy: PolicySet | None) -> timedelta:
        """Let a step begin under its rate limit; gives how long it has to wait if it may not yet."""
        if policy is None or policy.rate_limit is None:
            return _AT_ONCE
        key = (use.id, policy.rate_limit)
        bucket = self._kept.get(key)
        if bucket is None:
            bucket = self._kept[key] = TokenBucket(policy.rate_limit, self._timers.monotonic)
        wait: timedelta = bucket.take()
        return wait

    def guarded(self, use: CapabilityUse, policy: PolicySet | None) -> Call:
        """What to call for a use under a policy."""
        call = self._capabilities.call(use)
        if policy is None:
            return call
        if policy.cache is not None:
            call = self._cached(call, use, policy)
        if policy.timeout is not None:
            call = timed(call, self._timers, duration(policy.timeout))
        if policy.bulkhead is not None:
            key = (use.id, policy.bulkhead)
            call = _bounded(call, self._kept.setdefault(key, asyncio.Semaphore(policy.bulkhead.max_concurrent)))
        if policy.circuit_breaker is not None:
            of_breaker = (use.id, policy.circuit_breaker)
            if of_breaker not in self._kept:
                self._kept[of_breaker] = Breaker(policy.circuit_breaker, self._timers.monotonic)
            call = broken(call, self._kept[of_breaker])
        if policy.hedge is not None:
            call = hedged(call, self._timers, duration(policy.hedge.after), policy.hedge.calls)
        return call

    def _cached(self, call: Call, use: CapabilityUse, policy: PolicySet) -> Call:
        # Its library is imported where a policy asks for one.
        from flowx_runtime.engine.policies.cache import AnswerCache

        assert policy.cache is not None
        key = (use.id, use.version, policy.cache)
        if key not in self._kept:
            self._kept[key] = AnswerCache(duration(policy.cache.ttl), policy.cache.entries, self._timers.monotonic)
        cached: Call = self._kept[key].around(call)
        return cached


def _bounded(call: Call, semaphore: asyncio.Semaphore) -> Call:
    async def bounded(request: Any, context: Any) -> Any:
        async with semaphore:
            return await call(request, context)

    return bounded
