"""Policies around a call, nested by kind and never by order: circuit breaker, bulkhead, timeout, then the call.

Retry lies outside these and is counted from rows; it belongs to the step. Breakers and bulkheads are per process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

from flowx_runtime.authoring.durations import duration
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.policies import CircuitBreaker, PolicySet
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Call, Capabilities
from flowx_runtime.engine.clock import LoopTimers, Timers
from flowx_runtime.plan.uses import CapabilityUse


class CallTimedOut(FlowError, code="capability.timed_out", category=Category.UNAVAILABLE):
    """The capability did not answer within its policy's timeout."""


class CircuitOpen(FlowError, code="capability.circuit_open", category=Category.UNAVAILABLE):
    """The capability failed too often in a row; it is not called until its breaker's time is over."""


_FAULTS: Final = frozenset({Category.UNAVAILABLE, Category.INTERNAL})


class _Breaker:
    """Counts failures in a row. While it is open one probe is let through after each reset time."""

    def __init__(self, policy: CircuitBreaker, monotonic: Callable[[], float]) -> None:
        self._failures = policy.failures
        self._reset_after = duration(policy.reset_after).total_seconds()
        self._monotonic = monotonic
        self._in_a_row = 0
        self._opened_at = 0.0

    async def call(self, inner: Awaitable[Any]) -> Any:
        try:
            answer = await inner
        except FlowError as error:
            self._count(is_fault=error.category in _FAULTS)
            raise
        except Exception:
            self._count(is_fault=True)
            raise
        self._in_a_row = 0
        return answer

    def refuse_if_open(self) -> None:
        if self._in_a_row < self._failures:
            return
        if self._monotonic() - self._opened_at < self._reset_after:
            raise CircuitOpen
        self._opened_at = self._monotonic()

    def _count(self, *, is_fault: bool) -> None:
        self._in_a_row = self._in_a_row + 1 if is_fault else 0
        if self._in_a_row >= self._failures:
            self._opened_at = self._monotonic()


class Guards:
    """The calls of a host's capabilities inside the policies of the steps that use them."""

    def __init__(self, capabilities: Capabilities, timers: Timers | None = None) -> None:
        self._capabilities = capabilities
        self._timers = timers or LoopTimers()
        self._breakers: dict[tuple[str, CircuitBreaker], _Breaker] = {}
        self._bulkheads: dict[tuple[str, int], asyncio.Semaphore] = {}

    def guarded(self, use: CapabilityUse, policy: PolicySet | None) -> Call:
        """What to call for a use under a policy."""
        call = self._capabilities.call(use)
        if policy is None:
            return call
        if policy.timeout is not None:
            call = _timed(call, self._timers, duration(policy.timeout))
        if policy.bulkhead is not None:
            key = (use.id, policy.bulkhead.max_concurrent)
            call = _bounded(call, self._bulkheads.setdefault(key, asyncio.Semaphore(policy.bulkhead.max_concurrent)))
        if policy.circuit_breaker is not None:
            breaker = self._breakers.get((use.id, policy.circuit_breaker))
            if breaker is None:
                breaker = _Breaker(policy.circuit_breaker, self._timers.monotonic)
                self._breakers[use.id, policy.circuit_breaker] = breaker
            call = _broken(call, breaker)
        return call


def _timed(call: Call, timers: Timers, longest: timedelta) -> Call:
    async def timed(request: Any, context: Any) -> Any:
        bound = timers.limit(longest)
        try:
            async with bound:
                return await call(request, context)
        except TimeoutError:
            if bound.expired():
                raise CallTimedOut from None
            raise

    return timed


def _bounded(call: Call, semaphore: asyncio.Semaphore) -> Call:
    async def bounded(request: Any, context: Any) -> Any:
        async with semaphore:
            return await call(request, context)

    return bounded


def _broken(call: Call, breaker: _Breaker) -> Call:
    async def broken(request: Any, context: Any) -> Any:
        breaker.refuse_if_open()
        return await breaker.call(call(request, context))

    return broken
