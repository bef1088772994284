"""Processes killed in the middle of a step, and flows that are turned back before anybody has gone on with them.

An effect comes before its row. Where its process dies in between, the next one must not go back without it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import pytest

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import Delivery
from flowx_runtime.plan import AwaitSignal, Branch, Poll, Step
from tests.crash.capabilities import APPROVED, LOOK, Approved, Seen
from tests.crash.conftest import LANES, Lane, Lanes
from tests.crash.drive import root_of
from tests.crash.endings import Row
from tests.crash.scenarios import DAY, IN_TIME, LIMIT, MINUTE, SCENARIOS, Scenario, plain, plan, step
from tests.crash.stage import Stage
from tests.crash.world import Effect, Log

LATE: Final = Delivery("late", "work.approved", Approved(by="ada").model_dump_json())


def times_out(*block: Any) -> Scenario:
    """A wait that runs out, and what comes then can be undone."""
    after = 2 + len(block)
    return Scenario((plan(step(0, "a"), AwaitSignal(1, "approval", APPROVED, DAY, after), *block, step(after, "b")),))


def polled(*block: Any) -> Scenario:
    until: Callable[[Any], bool] = lambda ctx: ctx.get(Seen).times >= 99  # noqa: E731
    after = 3 + len(block)
    node = Poll(1, until, Backoff.fixed("PT1M"), 3 * MINUTE, after, APPROVED)
    return Scenario((plan(step(0, "a"), node, plain(2, "look", LOOK), *block, step(after, "b")),))


TIMING_OUT: Final = {
    "a wait": times_out(step(2, "escalate")),
    "a wait with a choice": times_out(Branch(2, lambda ctx: True, 4), step(3, "escalate")),
    "a poll": polled(step(3, "escalate")),
}
# What loses a race is cancelled, and a detached child is nobody's to undo.
TURNED: Final = [
    name
    for name, each in IN_TIME.items()
    if not (each.is_race or each.needs_postgres or each.is_late or "detached" in name)
]


async def turn_back(how: str, journal: Journal, scenario: Scenario) -> None:
    if how == "cancel":
        await journal.request_cancel(root_of(scenario), "not wanted")
    elif how == "signal":
        await journal.deliver(root_of(scenario), LATE)


def later(how: str, log: Log) -> dict[str, str]:
    by = LIMIT + DAY if how == "deadline" else timedelta(0)
    return {"clock": (log.now + by).isoformat()}


def forgotten(
    scenario: Scenario, effects: Sequence[Effect], rows: Sequence[Row], states: Sequence[str]
) -> Iterator[str]:
    """Effects that can be undone, that no row knows of, or that were not undone where everything else was."""
    nodes = [node for each in scenario.plans for node in each.nodes if isinstance(node, Step)]
    compensable = {node.name for node in nodes if node.compensation is not None}
    succeeded = {(*row[:2], row.name) for row in rows if row.outcome == "Success"}
    undone = {(each.instance, each.scope, each.name) for each in effects if each.capability.startswith("work.undo")}
    for effect in effects:
        place = (effect.instance, effect.scope, effect.name)
        is_done = effect.capability not in {"work.refuse", "work.try"} or effect.attempt > 2
        if effect.name not in compensable or effect.capability.startswith("work.undo") or not is_done:
            continue
        if place not in succeeded:
            yield f"{effect} has no row"
        elif states[0] != "Completed" and place not in undone:
            yield f"{effect} was not undone, and the flow is {states}"


def in_memory(scenario: Scenario, how: str, deaths: Sequence[tuple[str, int]]) -> Iterator[str]:
    stage = Stage(scenario)
    for number, death in enumerate(deaths):
        if stage.live(death, takes_over=number > 0):
            return
        asyncio.run(turn_back(how, stage.journal, scenario))
        stage.lines.append(later(how, Log.of(stage.lines)))
    assert stage.live(takes_over=True)
    run = stage.run()
    states = [instance.state for instance in run.ending.instances]
    yield from forgotten(scenario, run.effects, run.ending.rows, states)


def writes_of(scenario: Scenario) -> int:
    stage = Stage(scenario)
    assert stage.live()
    return len(Log.of(stage.lines).writes)


@pytest.mark.parametrize("how", ["deadline", "cancel"])
@pytest.mark.parametrize("name", TURNED)
def test_what_was_under_way_is_undone_where_the_flow_is_turned_back(name: str, how: str) -> None:
    scenario, told = IN_TIME[name], []
    for number in range(writes_of(scenario)):
        # The second dies while it makes up for the first.
        for deaths in ([("before", number)], [("before", number), ("before", 1)], [("before", number), ("before", 2)]):
            told += [f"{deaths}: {line}" for line in in_memory(scenario, how, deaths)]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", TIMING_OUT)
def test_a_late_signal_does_not_have_a_timeout_forgotten_that_was_under_way(name: str) -> None:
    scenario, told = TIMING_OUT[name], []
    for number in range(writes_of(scenario)):
        told += [f"{number}: {line}" for line in in_memory(scenario, "signal", [("before", number)])]
    assert not told, "\n".join(told)


async def _turn_back(how: str, lane: Lane, scenario: Scenario) -> None:
    journal = await PostgresJournal.open(lane.dsn, schema=lane.schema, migrate=False)
    await turn_back(how, journal, scenario)
    await journal.close()


def on_postgres(lane: Lane, name: str, scenario: Scenario, how: str, number: int) -> Iterator[str]:
    log = lane.new_case()
    if lane.live(name, log, kill=("before", number)) == 0:
        return
    asyncio.run(_turn_back(how, lane, scenario))
    with log.open("a") as lines:
        lines.write(json.dumps(later(how, Log.read(log))) + "\n")
    lane.live(name, log, takes_over=True)
    ending = lane.ending()
    states = [instance.state for instance in ending.instances]
    yield from forgotten(scenario, Log.read(log).effects, ending.rows, states)


@pytest.mark.slow  # a process for every place there is to die at
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("a saga that completes, in time", "deadline"),
        ("a saga that completes, in time", "cancel"),
        ("a fork that waits, in time", "deadline"),
        ("a wait that times out", "signal"),
    ],
)
def test_what_was_under_way_in_a_killed_process_is_undone(name: str, how: str, lanes: Lanes) -> None:
    scenario = (SCENARIOS | IN_TIME)[name]
    with lanes.one() as lane:
        log = lane.new_case()
        assert lane.live(name, log) == 0
        writes = [number for number, write in enumerate(Log.read(log).writes) if write.has_written]

    def case(number: int) -> list[str]:
        with lanes.one() as free:
            return [f"{number}: {line}" for line in on_postgres(free, name, scenario, how, number)]

    with ThreadPoolExecutor(LANES) as threads:
        told = [line for lines in threads.map(case, writes) for line in lines]
    assert not told, "\n".join(told)
