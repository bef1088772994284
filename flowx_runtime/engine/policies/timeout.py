"""Ends a call that takes too long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Call
from flowx_runtime.engine.clock import Timers


class CallTimedOut(FlowError, code="capability.timed_out", category=Category.UNAVAILABLE):
    """The capability did not answer within its policy's timeout."""


def timed(call: Call, timers: Timers, longest: timedelta) -> Call:
    """A call that may take so long, and no longer than its flow's deadline leaves."""

    async def in_time(request: Any, context: Any) -> Any:
        allowed = longest
        if context.deadline is not None:
            allowed = max(min(longest, context.deadline - context.utc_now), timedelta(0))
        bound = timers.limit(allowed)
        try:
            async with bound:
                return await call(request, context)
        except TimeoutError:
            if bound.expired():
                raise CallTimedOut from None
            raise

    return in_time
