"""Going on behind a loop costs what the loop has rows, and no more: ten times the elements, ten times the work."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest

import flowx_runtime
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.records import State
from tests.crash.drive import host_of, root_of
from tests.crash.long_loops import SHAPES, Make, leave_behind
from tests.crash.world import START, World

TTL = timedelta(seconds=30)
PACKAGE = flowx_runtime.__path__[0]


class CountedJournal(MemoryJournal):
    """Counts what a store would be asked."""

    asked: Counter[str]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("_") and callable(found):
            super().__getattribute__("asked")[name] += 1
        return found


@contextmanager
def calls_counted(counts: Counter[str]) -> Iterator[None]:
    """Counts the calls of functions of the engine; a pass over a generator is a call for each of its elements."""

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            counts["calls"] += 1

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


async def resume(make: Make, elements: int) -> tuple[int, Counter[str]]:
    """How many calls a resume makes, and what it asks of the journal."""
    now = START
    scenario, rows = make(elements)
    journal = CountedJournal(lambda: now)
    journal.asked = Counter()
    await leave_behind(journal, scenario, rows, owner="dead", ttl=TTL)
    now += TTL
    journal.asked.clear()
    host = host_of(scenario, journal, World(lambda line: None), lease_ttl=TTL)
    counts: Counter[str] = Counter()
    with calls_counted(counts):
        assert await host.sweep_once() == 1
    asked = Counter(journal.asked)
    history = await journal.read(root_of(scenario))
    assert history is not None
    assert history.instance.state is State.COMPLETED
    assert len(history.rows) == len(rows) + 1
    return counts["calls"], asked


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_resume_behind_ten_times_the_elements_is_ten_times_the_work(shape: str) -> None:
    few, asked_of_few = await resume(SHAPES[shape], 1_000)
    many, asked_of_many = await resume(SHAPES[shape], 10_000)
    assert few > 1_000
    assert many < 10.5 * few
    assert asked_of_many == asked_of_few
