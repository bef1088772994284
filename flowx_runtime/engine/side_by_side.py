"""Runs walks at the same time, and lets none go before all have come to rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

from flowx_runtime.engine.failures import FlowFailure
from flowx_runtime.journal.records import Wait

Ending: TypeAlias = tuple[Wait, ...] | FlowFailure
"""How one walk came to rest: its open waits, nothing at all (it is done), or its failure."""


@dataclass(slots=True)
class Tally:
    """How many walks have come to rest, and how. Counted, because to look through a loop per element is quadratic."""

    succeeded: int = 0
    failed: int = 0
    waiting: int = 0

    def add(self, ending: Ending) -> None:
        """Count one more."""
        if isinstance(ending, FlowFailure):
            self.failed += 1
        elif ending:
            self.waiting += 1
        else:
            self.succeeded += 1


Walk: TypeAlias = Callable[[], Coroutine[Any, Any, tuple[Wait, ...]]]


_STOPPED: ContextVar[asyncio.Event | None] = ContextVar("flowx_walk_stopped", default=None)
"""Set when the walk it belongs to is cancelled. A task's own count would not do: some libraries only ever add to it."""


def is_stopped() -> bool:
    """Whether the walk that runs was cancelled; a capability may have swallowed that."""
    stopped = _STOPPED.get()
    return stopped is not None and stopped.is_set()


async def side_by_side(walks: Sequence[Walk], *, limit: int, is_decided: Callable[[Tally], bool]) -> dict[int, Ending]:
    """Run the walks, at most `limit` at once; a walk that waits keeps its place.

    As soon as the endings so far decide the matter, the rest is cancelled; a cancelled walk has no ending. Every walk
    that was begun has come to rest before this returns or raises.
    """
    if limit == 1:
        return await _one_by_one(walks, is_decided)
    endings: dict[int, Ending] = {}
    tally = Tally()
    running: dict[asyncio.Task[tuple[Wait, ...]], int] = {}
    upcoming = iter(enumerate(walks))
    stopped = asyncio.Event()
    is_over = False
    try:
        while True:
            free = 0 if is_over else limit - len(running) - tally.waiting
            for _, (position, walk) in zip(range(free), upcoming, strict=False):
                running[_begin(walk, stopped)] = position
            if not running:
                return endings
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=running.__getitem__):
                position = running.pop(task)
                if not (is_over and task.cancelled()):
                    endings[position] = _ending(task)
                    tally.add(endings[position])
            if not is_over and is_decided(tally):
                is_over = True
                stopped.set()
                for task in running:
                    task.cancel()
    finally:
        stopped.set()
        await _drain(running)


def _begin(walk: Walk, stopped: asyncio.Event) -> asyncio.Task[tuple[Wait, ...]]:
    around = _STOPPED.set(stopped)
    try:
        return asyncio.create_task(walk())
    finally:
        _STOPPED.reset(around)


async def _one_by_one(walks: Sequence[Walk], is_decided: Callable[[Tally], bool]) -> dict[int, Ending]:
    endings: dict[int, Ending] = {}
    tally = Tally()
    for position, walk in enumerate(walks):
        endings[position] = await _rest(walk())
        tally.add(endings[position])
        if tally.waiting or is_decided(tally):
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


async def _drain(running: Mapping[asyncio.Task[tuple[Wait, ...]], int]) -> None:
    for task in running:
        task.cancel()
    if running:
        await asyncio.gather(*running, return_exceptions=True)
