"""Stops calling what fails, and probes now and then whether it is back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from flowx_runtime.authoring.durations import duration
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.policies import CircuitBreaker
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Call


class CircuitOpen(FlowError, code="capability.circuit_open", category=Category.UNAVAILABLE):
    """The capability failed too often in a row; it is not called until its breaker's time is over."""


_FAULTS: Final = frozenset({Category.UNAVAILABLE, Category.INTERNAL})


class Breaker:
    """Counts failures in a row. While it is open one probe is let through after each reset time."""

    def __init__(self, policy: CircuitBreaker, monotonic: Callable[[], float]) -> None:
        self._failures = policy.failures
        self._reset_after = duration(policy.reset_after).total_seconds()
        self._monotonic = monotonic
        self._in_a_row = 0
        self._opened_at = 0.0

    async def call(self, inner: Awaitable[Any]) -> Any:
        """Await a call and count how it ends; a cancelled one is not counted."""
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
        """Let through what may be called now.

        Raises:
            CircuitOpen: nothing is, for a while.
        """
        if self._in_a_row < self._failures:
            return
        if self._monotonic() - self._opened_at < self._reset_after:
            raise CircuitOpen
        self._opened_at = self._monotonic()

    def _count(self, *, is_fault: bool) -> None:
        self._in_a_row = self._in_a_row + 1 if is_fault else 0
        if self._in_a_row >= self._failures:
            self._opened_at = self._monotonic()


def broken(call: Call, breaker: Breaker) -> Call:
    """A call that goes through a breaker."""

    async def through_breaker(request: Any, context: Any) -> Any:
        breaker.refuse_if_open()
        return await breaker.call(call(request, context))

    return through_breaker
