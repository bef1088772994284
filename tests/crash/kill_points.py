"""Where a process dies: before, during or after one of its writes to the journal, counted from 0."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn

from flowx_runtime import PostgresJournal
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.queries import queries
from flowx_runtime.journal.postgres.transaction import PostgresStepTransaction
from tests.crash.world import Line

READS: Final = frozenset(
    {
        "read",
        "find",
        "events",
        "live_leases",
        "next_wake",
        "now",
        "schedules",
        "once_records",
        "poisoned_events",
        "tell_nodes",
        "renew",
    }
)
"""The statements that change nothing, or come by the clock alone.

A step's own transaction is no statement of these, and counted by itself."""


class KillPoint:
    """Counts writes and kills this process at one of them.

    Args:
        note: is told of each write, and whether there was anything to write.
        at: `before`, `during` or `after`, and the number of the write; `None` lets the process live.
    """

    def __init__(self, note: Callable[[Line], None], at: tuple[str, int] | None) -> None:
        self.note = note
        self._at = at
        self._next = 0

    def number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    def pass_by(self, when: str, number: int) -> None:
        if self._at == (when, number):
            kill()

    def is_during(self, number: int) -> bool:
        return self._at == ("during", number)


def kill() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process does nothing more")


def die_at(point: KillPoint, schema: str) -> None:
    """From here on this process dies where a statement is sent or answered: at the real boundary of its transaction."""
    names = {text: name for name, text in queries(schema).items()}
    fetch = Connections.fetch

    async def dying(self: Connections, query: bytes, parameters: Any) -> Sequence[tuple[Any, ...]]:
        name = names[query]
        if name in READS:
            return await fetch(self, query, parameters)
        number = point.number()
        point.pass_by("before", number)
        if point.is_during(number):
            # One turn of the event loop: it has been sent, and was not answered yet.
            await asyncio.wait([asyncio.ensure_future(fetch(self, query, parameters))], timeout=0)
            kill()
        rows = await fetch(self, query, parameters)
        point.pass_by("after", number)
        point.note({"write": (name, bool(rows))})
        return rows

    Connections.fetch = dying  # type: ignore[method-assign]


class DyingJournal(PostgresJournal):
    """Its process dies at the commit of a step's own transaction too."""

    point: KillPoint

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresStepTransaction]:
        number = self.point.number()
        async with super().transaction() as step:
            yield step
            self.point.pass_by("before", number)
        self.point.pass_by("after", number)
        self.point.note({"write": ("transaction", True)})
