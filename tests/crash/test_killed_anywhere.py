"""Processes killed before, during and after each of their writes: a peer ends every flow as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.crash.conftest import LANES, Lane, Lanes
from tests.crash.endings import Run, about_ending, complaints, in_flight, undone
from tests.crash.scenarios import SCENARIOS
from tests.crash.world import Log, Write

KILLED = -9
TORN = 3
"""Of so many writes one is torn: the process dies between sending it and hearing of it."""


def undisturbed(lane: Lane, name: str) -> tuple[Run, list[Write]]:
    """A run that nobody kills, and its writes."""
    log = lane.new_case()
    assert lane.live(name, log) == 0
    told = Log.read(log)
    return Run(lane.ending(), told.effects), told.writes


def places(writes: list[Write]) -> Iterator[tuple[str, int]]:
    """Where to kill: at either side of each write, where they differ, and in the middle of some."""
    before_all = Write("", has_written=True, is_behind_news=True)
    for number, (write, last) in enumerate(zip(writes, [before_all, *writes], strict=False)):
        if not write.has_written:
            continue
        if write.is_behind_news or not last.has_written:
            yield "before", number
        yield "after", number
        if number % TORN == 0 and write.name != "transaction":
            yield "during", number


def disturbed(lane: Lane, name: str, kill: tuple[str, int], expected: Run) -> Iterator[str]:
    """A run that is killed there, and a peer that takes over."""
    scenario, log = SCENARIOS[name], lane.new_case()
    code = lane.live(name, log, kill=kill)
    if code != KILLED and scenario.overlap == 1:
        yield f"the process ended with {code}"
    unwritten = in_flight(Log.read(log).effects, lane.rows(), lane.once())
    lane.live(name, log, takes_over=True)
    yield from complaints(scenario, expected, Run(lane.ending(), Log.read(log).effects), [unwritten])


@pytest.mark.slow  # a process for every place there is to die at
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_flow_ends_the_same_wherever_its_process_is_killed(name: str, lanes: Lanes) -> None:
    scenario = SCENARIOS[name]
    with lanes.one() as lane:
        expected, writes = undisturbed(lane, name)
    assert list(about_ending(scenario, expected)) == []
    assert expected.ending.instances[0].state == scenario.ends.value
    assert undone(expected.effects) == scenario.undone.split() or scenario.overlap > 1

    def case(kill: tuple[str, int]) -> list[str]:
        when, number = kill
        with lanes.one() as free:
            found = list(disturbed(free, name, kill, expected))
        return [f"{when} write {number}, {writes[number].name}: {told}" for told in found]

    with ThreadPoolExecutor(LANES) as threads:
        told = [line for lines in threads.map(case, places(writes)) for line in lines]
    assert not told, "\n".join(told)
