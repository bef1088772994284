"""Gives an answer again, for a while, to whoever asks the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cachetools import TTLCache

from flowx_runtime.engine.capabilities import Call
from flowx_runtime.engine.codec import encode


class AnswerCache:
    """The answers of one capability under one policy. Equal requests that are out at once are each asked."""

    def __init__(self, ttl: timedelta, entries: int, monotonic: Callable[[], float]) -> None:
        self._answers: TTLCache[tuple[str | None, str], Any] = TTLCache(
            maxsize=entries, ttl=ttl.total_seconds(), timer=monotonic
        )

    def around(self, call: Call) -> Call:
        """A call that is made only where there is no answer yet."""

        async def remembered(request: Any, context: Any) -> Any:
            # What one caller may see is not for another.
            key = (context.principal, encode(type(request), request))
            try:
                return self._answers[key]
            except KeyError:
                answer = self._answers[key] = await call(request, context)
                return answer

        return remembered
