"""Processes that only seem to be some: they share an interpreter, and what they leave is a journal in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, Final

from flowx_runtime.engine.session import CHILD_FINISHED
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.records import State, StepRow
from tests.crash.drive import PATIENCE, drive, host_of
from tests.crash.endings import Ending, Instance, Row, Run, in_flight
from tests.crash.scenarios import Scenario
from tests.crash.world import START, Effect, Line, Log, World

TTL: Final = timedelta(seconds=30)
WRITES: Final = frozenset(
    {"start", "commit", "claim", "claim_due", "claim_abandoned", "release", "deliver", "record_once"}
)


class Killed(BaseException):
    """The process is gone: nothing that runs in it may catch this."""


class Process:
    """What is lost when it dies; until then it passes the journal and the world on.

    Args:
        at: `before` or `after`, and the number of a write.
    """

    def __init__(self, journal: MemoryJournal, lines: list[Line], at: tuple[str, int] | None) -> None:
        self._journal = journal
        self._lines = lines
        self._at = at
        self._numbers = count()
        self._is_dead = False

    def note(self, line: Line) -> None:
        if self._is_dead:
            raise Killed
        self._lines.append(line)

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name, getattr(self._journal, name))

    async def _call(self, name: str, method: Any, *args: Any, **named: Any) -> Any:
        if self._is_dead:
            raise Killed
        if name not in WRITES:
            return await method(*args, **named)
        number = next(self._numbers)
        self._die_at("before", number)
        answer = await method(*args, **named)
        self._die_at("after", number)
        self.note({"write": (name, answer != [])})
        return answer

    def _die_at(self, when: str, number: int) -> None:
        if self._at == (when, number):
            self._is_dead = True
            raise Killed


class Stage:
    """The journal and the world, which outlive processes."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.lines: list[Line] = []
        self._stores_clock = START
        self.journal = MemoryJournal(lambda: self._stores_clock)

    def live(self, at: tuple[str, int] | None = None, *, takes_over: bool = False) -> bool:
        """Let a process work; whether it lived to the end."""
        self._stores_clock += TTL
        process: Any = Process(self.journal, self.lines, at)
        world = World(process.note, Log.of(self.lines).now)

        async def work() -> None:
            host = host_of(self.scenario, process, world, lease_ttl=TTL)
            async with asyncio.timeout(PATIENCE):
                await drive(self.scenario, host, process, world, takes_over=takes_over)

        try:
            asyncio.run(work())
        except Killed:
            return False
        return True

    def unwritten(self) -> set[Effect]:
        return in_flight(Log.of(self.lines).effects, list(self._rows()), self._done_once())

    def run(self) -> Run:
        entries = list(self.journal._entries.values())
        # What comes to an instance that is going back already, nobody has to take.
        untaken = [
            delivery
            for entry in entries
            for delivery in entry.pending()
            if entry.row.state is State.COMPLETED
            or (entry.row.state is not State.CANCELLED and delivery.signal_id.startswith(CHILD_FINISHED))
        ]
        return Run(
            Ending(
                tuple(
                    Instance(
                        str(row.instance_id),
                        row.flow_id,
                        row.state.value,
                        row.output,
                        None if row.error is None else row.error.code,
                    )
                    for row in (entry.row for entry in entries)
                ),
                tuple(self._rows()),
                tuple(f"{event}" for entry in entries for event in entry.events.values()),
                len(untaken),
                sum(self.journal._is_live(entry.lease) for entry in entries),
                sum(len(entry.row.waits) for entry in entries),
                once=self._done_once(),
            ),
            Log.of(self.lines).effects,
        )

    def _done_once(self) -> tuple[str, ...]:
        kept = (record for records in self.journal._once.values() for record in records.values())
        return tuple(json.loads(record.value or "null") for record in kept if record.is_done)

    def _rows(self) -> Iterator[Row]:
        for instance_id, entry in self.journal._entries.items():
            yield from (_row(str(instance_id), row) for row in entry.rows)


def _row(instance: str, row: StepRow) -> Row:
    return Row(
        instance,
        row.scope,
        row.step_id,
        row.attempt,
        row.name,
        row.capability_id,
        row.outcome.value,
        row.request,
        row.result,
        None if row.error is None else row.error.code,
        str(row.captured.utc_now),
    )
