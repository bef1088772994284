"""The same flows and the same deaths without processes: and peers that die as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.crash.endings import Run, complaints
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.stage import Stage
from tests.crash.world import Effect, Log


def disturbed(scenario: Scenario, deaths: Sequence[tuple[str, int]], expected: Run) -> Iterator[str]:
    stage = Stage(scenario)
    unwritten: list[set[Effect]] = []
    for number, death in enumerate(deaths):
        if stage.live(death, takes_over=number > 0):
            break
        unwritten.append(stage.unwritten())
    else:
        assert stage.live(takes_over=True)
    yield from complaints(scenario, expected, stage.run(), unwritten)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if not SCENARIOS[name].needs_postgres])
def test_a_flow_ends_the_same_however_often_its_processes_die(name: str) -> None:
    scenario = SCENARIOS[name]
    stage = Stage(scenario)
    assert stage.live()
    expected, writes = stage.run(), Log.of(stage.lines).writes
    told: list[str] = []
    for number in range(len(writes)):
        for when in ("before", "after"):
            # The second process dies early, the third where the first did: what is left of it is less by then.
            later = [("after", 0), ("before", number % 4), (when, number)]
            for deaths in ([(when, number)], [(when, number), *later]):
                told += [f"{deaths}: {line}" for line in disturbed(scenario, deaths, expected)]
    assert not told, "\n".join(told)
