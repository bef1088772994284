"""Runs walks at the same time, and lets none go before all have come to rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias

from flowx_runtime.engine.failures import FlowFailure
from flowx_runtime.journal.records import Wait

Ending: TypeAlias = tuple[Wait, ...] | FlowFailure
"""How one walk came to rest: its open waits, nothing at all (it is done), or its failure."""

Walk: TypeAlias = Callable[[], Coroutine[Any, Any, tuple[Wait, ...]]]


async def side_by_side(
    walks: Sequence[Walk], *, limit: int, is_decided: Callable[[Mapping[int, Ending]], bool]
) -> dict[int, Ending]:
    """Run the walks, at most `limit` at once; a walk that waits keeps its place.

    As soon as the endings so far decide the matter, the rest is cancelled; a cancelled walk has no ending. Every walk
    that was begun has come to rest before this returns or raises.
    """
    if limit == 1:
        return await _one_by_one(walks, is_decided)
    endings: dict[int, Ending] = {}
    running: dict[asyncio.Task[tuple[Wait, ...]], int] = {}
    upcoming = iter(enumerate(walks))
    is_over = False
    try:
        while True:
            free = 0 if is_over else limit - len(running) - sum(1 for ending in endings.values() if _is_waiting(ending))
            for _, (position, walk) in zip(range(free), upcoming, strict=False):
                running[asyncio.create_task(walk())] = position
            if not running:
                return endings
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=running.__getitem__):
                position = running.pop(task)
                if not (is_over and task.cancelled()):
                    endings[position] = _ending(task)
            if not is_over and is_decided(endings):
                is_over = True
                for task in running:
                    task.cancel()
    finally:
        await _drain(running)


async def _one_by_one(walks: Sequence[Walk], is_decided: Callable[[Mapping[int, Ending]], bool]) -> dict[int, Ending]:
    endings: dict[int, Ending] = {}
    for position, walk in enumerate(walks):
        endings[position] = await _rest(walk())
        if _is_waiting(endings[position]) or is_decided(endings):
            break
    return endings


async def _rest(walk: Awaitable[tuple[Wait, ...]]) -> Ending:
    try:
        return await walk
    except FlowFailure as failed:
        return failed


def _ending(task: asyncio.Task[tuple[Wait, ...]]) -> Ending:
    try:
        return task.result()
    except FlowFailure as failed:
        return failed


def _is_waiting(ending: Ending) -> bool:
    return not isinstance(ending, FlowFailure) and bool(ending)


async def _drain(running: Mapping[asyncio.Task[tuple[Wait, ...]], int]) -> None:
    for task in running:
        task.cancel()
    if running:
        await asyncio.gather(*running, return_exceptions=True)
