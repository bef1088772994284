"""Instances of every shape, ended or left behind by a process that died, replay the same a hundred days later."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.engine.replay import Replayed
from flowx_runtime.plan import Branch, Emit, ForEach, Jump, Plan, Poll, Step, SubFlow, Switch
from tests.crash.capabilities import DO, LOOK, UNDO, WORK_DONE, Done, Item, Order, WorkDone
from tests.crash.drive import host_of, root_of
from tests.crash.scenarios import DAY, SCENARIOS, Scenario, each, plain, plan, step
from tests.crash.stage import Stage
from tests.crash.world import Log, World

LATER: Final = timedelta(days=100)


async def replays(stage: Stage, now: datetime) -> list[Replayed]:
    """Of every instance, by a process of its own whose clock says `now`."""
    host = host_of(stage.scenario, stage.journal, World(stage.lines.append, now))
    return [await host.replay(instance_id) for instance_id in stage.journal._entries]


def differences(stage: Stage) -> Iterator[str]:
    """Where replays leave the recorded path, differ between today and later, or touch anything."""
    before, noted = stage.run(), len(stage.lines)
    now = Log.of(stage.lines).now
    today, later = asyncio.run(replays(stage, now)), asyncio.run(replays(stage, now + LATER))
    yield from (str(replayed.difference) for replayed in today if not replayed.is_same)
    if [_bytes(replayed) for replayed in today] != [_bytes(replayed) for replayed in later] or today != later:
        yield f"{today} is later {later}"
    if (stage.run(), len(stage.lines)) != (before, noted):
        yield "the replay changed something"


def _bytes(replayed: Replayed) -> bytes:
    return "\n".join(replayed.path).encode()


IN_MEMORY: Final = [name for name in SCENARIOS if not SCENARIOS[name].needs_postgres]


@pytest.mark.parametrize("name", IN_MEMORY)
def test_an_ended_run_replays_byte_for_byte_a_hundred_days_later(name: str) -> None:
    stage = Stage(SCENARIOS[name])
    assert stage.live()
    assert list(differences(stage)) == []


@pytest.mark.parametrize("name", IN_MEMORY)
def test_an_abandoned_run_replays_as_far_as_it_came_wherever_it_died(name: str) -> None:
    whole = Stage(SCENARIOS[name])
    whole.live()
    told: list[str] = []
    for number in range(len(Log.of(whole.lines).writes)):
        stage = Stage(SCENARIOS[name])
        stage.live(("after", number))
        told += [f"after write {number}: {line}" for line in differences(stage)]
        stage.live(takes_over=True)
        told += [f"after write {number} and a takeover: {line}" for line in differences(stage)]
    assert not told, "\n".join(told)


CALLS: Counter[str] = Counter()


def impure() -> int:
    """Another number each time."""
    CALLS["impure"] += 1
    return CALLS["impure"]


def other_item(ctx: Any) -> Item:
    return Item(name=f"{impure()}")


IMPURE: Final[dict[str, tuple[Plan[Any, Any], ...]]] = {
    "predicate": (plan(step(0, "a"), Branch(1, lambda ctx: impure() % 2 == 0, 3), step(2, "b"), step(3, "c")),),
    "selector": (
        plan(Switch(0, lambda ctx: impure() % 2, ((0, 1), (1, 3)), 4), step(1, "a"), Jump(2, 4), step(3, "b")),
    ),
    "elements": (plan(ForEach(0, lambda ctx: [Item(name="x")] * (1 + impure() % 2), Item, 2), each(1, "a")),),
    "until": (
        plan(Poll(0, lambda ctx: impure() % 2 == 0, Backoff.fixed("PT1M"), DAY), plain(1, "look", LOOK), step(2, "b")),
    ),
    "map": (plan(Step(0, "a", DO, other_item, UNDO), step(1, "b")),),
    "event": (plan(step(0, "a"), Emit(1, "e", WORK_DONE, lambda ctx: WorkDone(name=f"{impure()}"))),),
    "request of a child": (
        plan(SubFlow(0, "child", "child", "1.0.0", lambda ctx: Order(name=f"{impure()}"))),
        plan(step(0, "a"), flow_id="child"),
    ),
    "projection": (plan(step(0, "a"), returns=lambda ctx: Done(name=f"{impure()}")),),
}


@pytest.mark.parametrize("kind", IMPURE)
def test_an_impure_function_of_any_kind_is_caught(kind: str) -> None:
    CALLS["impure"] = 0
    scenario = Scenario(IMPURE[kind])
    stage = Stage(scenario)
    assert stage.live()
    told = []
    for parity in range(2):
        CALLS["impure"] = parity  # of two kinds of answers, one is what the run was told
        replayed = asyncio.run(replays(stage, Log.of(stage.lines).now))
        told += [each.difference for each in replayed if each.instance_id == root_of(scenario)]
    assert any(difference is not None for difference in told)
