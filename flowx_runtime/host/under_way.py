"""The runs that are under way on a host, so that leaving it can wait for them, and can end what will not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from flowx_runtime.journal.contract import JournalUnavailable

_LEFT: Final = (
    "this host was left while the run was under way; other nodes go on with what is in the journal: ask for its "
    "outcome there, or start it again with the same idempotency key"
)


class UnderWay:
    """Counts runs by the task that makes them: a caller's, or one of a sweep."""

    def __init__(self) -> None:
        self._runs: Counter[asyncio.Task[Any] | None] = Counter()
        """How many calls of the host each task is in."""
        self._broken_off: set[asyncio.Task[Any] | None] = set()
        self._is_broken_off = False
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """How many tasks make a run."""
        return len(self._runs)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Be under way.

        Raises:
            JournalUnavailable: the run was, or has to be, left to other nodes.
        """
        if self._is_broken_off:
            raise JournalUnavailable(_LEFT)
        task = asyncio.current_task()
        self._runs[task] += 1
        self._idle.clear()
        try:
            yield
        except asyncio.CancelledError:
            # The caller's own cancellation stays one.
            if task not in self._broken_off or self._runs[task] > 1 or task is None or task.cancelling() > 1:
                raise
            raise JournalUnavailable(_LEFT) from None
        finally:
            self._runs[task] -= 1
            if not self._runs[task]:
                del self._runs[task]
                if task is not None and task in self._broken_off:
                    self._broken_off.discard(task)
                    task.uncancel()
            if not self._runs:
                self._idle.set()

    async def come_to_rest(self) -> None:
        """Wait until nothing is under way."""
        await self._idle.wait()

    def break_off(self) -> None:
        """Cancel what is under way: whoever goes on with it must not do so beside this node."""
        self._is_broken_off = True
        self._broken_off = set(self._runs) - {asyncio.current_task()}
        for task in self._broken_off:
            if task is not None:
                task.cancel()
