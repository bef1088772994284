"""Asks again while an answer is out, and takes the first."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta
from typing import Any

from flowx_runtime.engine.capabilities import Call
from flowx_runtime.engine.clock import Timers


def hedged(call: Call, timers: Timers, after: timedelta, calls: int) -> Call:
    """A call that is made again, at most `calls` times at once, whenever `after` has gone by without an answer.

    The first answer wins and the others are cancelled. Each call reads the clock, ids and randomness through a context
    of its own; what the winner read is what is recorded. Only when all have failed is the first failure raised.
    """

    async def first_answer(request: Any, context: Any) -> Any:
        contexts: dict[asyncio.Task[Any], Any] = {}
        failures: list[BaseException] = []

        def ask() -> None:
            own = copy.copy(context)
            own.step_transaction = None  # of several calls only one could commit with the row
            contexts[asyncio.ensure_future(_coroutine(call, request, own))] = own

        ask()
        try:
            while True:
                out = [task for task in contexts if not task.done()]
                done = await _wait(out, timers, after if len(contexts) < calls else None)
                for task in done:
                    error = task.exception()
                    if error is None:
                        context.take_over(contexts[task])
                        return task.result()
                    failures.append(error)
                if not done and len(contexts) < calls:
                    ask()
                elif len(failures) == len(contexts):
                    raise failures[0]
        finally:
            left = [task for task in contexts if not task.done()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    return first_answer


async def _coroutine(call: Call, request: Any, context: Any) -> Any:
    return await call(request, context)


async def _wait(tasks: list[asyncio.Task[Any]], timers: Timers, longest: timedelta | None) -> set[asyncio.Task[Any]]:
    """Those that are done first; none if that takes too long."""
    if longest is None:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done
    bound = timers.limit(longest)
    try:
        async with bound:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done
    except TimeoutError:
        if not bound.expired():
            raise
        return set()
