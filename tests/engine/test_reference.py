"""A flow of any shape, killed anywhere, comes to what a small interpreter works out without an engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import replace
from typing import Any

from engine_scene import Crash, Scene
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_flows import MINUTE, Asked, Broken, Item, Layout, Note, Said, Start, Work, blocks, mixed, named
from reference_interpreter import Result, interpret

from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.engine.identity import started_id
from flowx_runtime.host.errors import InstanceTerminal
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Completed, Failed
from flowx_runtime.journal.records import Delivery, RowOutcome, State, StepRow

START = Start(text="s")
PARENT = started_id("reference", None, "k")
DEADLINE = 1000 * MINUTE
"""More than any of these flows takes."""


class World:
    """What the capabilities do; it outlives every process."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []
        self.undone: list[tuple[str, ...]] = []

    async def work(self, request: Work, ctx: StepContext) -> Note:
        if ctx.attempt <= request.fails:
            raise Broken
        self.done.append((ctx.flow_id, request.name, ctx.scope, request.text))
        return Note(text=mixed(request.name, request.text))

    async def unwork(self, request: Work, ctx: StepContext) -> None:
        self.undone.append((ctx.flow_id, request.name, ctx.scope, request.text))

    async def ask(self, request: Start, ctx: StepContext) -> Asked:
        return Asked(times=int(ctx.scope.rpartition("/")[2]) + 1)


async def run(
    block: tuple[Item, ...],
    before: set[int],
    after: set[int],
    *,
    cancelled_at: int | None = None,
    out_of_time_at: int | None = None,
) -> tuple[Result, Scene]:
    layout, world = Layout(), World()
    parent, *children = layout.plans(block)
    scene = Scene(parent if out_of_time_at is None else replace(parent, deadline=DEADLINE), *children)
    scene.journal.crash_before |= before
    scene.journal.crash_after |= after
    substitutes = {"work": world.work, "unwork": world.unwork, "ask": world.ask}
    started = scene.clock.now()
    host = scene.new_host(substitutes=substitutes)
    try:
        await host.run("reference", START, idempotency_key="k")
    except Crash:
        host = scene.new_host(substitutes=substitutes)
    for sweeps in range(400):
        if all(entry.row.state.is_terminal for entry in scene.journal._entries.values()):
            break
        _expire_leases(scene)
        if sweeps == cancelled_at:
            await _cancel(host)
            continue
        if sweeps == out_of_time_at:
            scene.clock.advance(DEADLINE)
        if not await host.sweep_once() and not await _deliver(scene, layout.arriving):
            scene.clock.move_to(await scene.journal.next_wake())
        host = scene.new_host(substitutes=substitutes)
    outcome = await host.outcome(PARENT)
    result = Result(
        state=(await scene.state(PARENT)).value,
        error=outcome.error.code if isinstance(outcome, Failed) else None,
        output=outcome.value.text if isinstance(outcome, Completed) else None,
        minutes=int((scene.clock.now() - started) / MINUTE),
        done=world.done,
        undone=world.undone,
        said=[await_said for entry in scene.journal._entries.values() for await_said in _said(entry)],
    )
    assert (scene.clock.now() - started) % MINUTE == 0 * MINUTE
    return result, scene


async def _cancel(host: FlowHost) -> None:
    with contextlib.suppress(Crash, InstanceTerminal):
        await host.cancel(PARENT, "changed their mind")


def _said(entry: Any) -> list[str]:
    return [Said.model_validate_json(each.payload).text for each in entry.events.values()]


def _expire_leases(scene: Scene) -> None:
    """The term of a dead process's leases is over, and no time has passed: what is due when stays as it is."""
    for entry in scene.journal._entries.values():
        entry.lease = replace(entry.lease, expires_at=scene.clock.now())
    scene.journal._setbacks.clear()  # nobody waits for longer because so many have died: time stands still here


async def _deliver(scene: Scene, arriving: set[str]) -> bool:
    """Deliver one signal for every open wait whose signal is to come; whether there was anything to deliver."""
    delivered = False
    for instance_id, entry in list(scene.journal._entries.items()):
        waited_for = Counter(wait.signal_id for wait in entry.row.waits if wait.signal_id in arriving)
        on_their_way = Counter(delivery.signal_id for delivery in entry.pending())
        for signal_id in (waited_for - on_their_way).elements():
            await scene.journal.deliver(instance_id, Delivery(f"d{len(entry.inbox)}", str(signal_id), "{}"))
            delivered = True
    return delivered


def _assert_nothing_is_left(found: Result, scene: Scene) -> None:
    """Also what was done by a process that died before it could write so."""
    rows = Counter(row.outcome for each in scene.journal._entries.values() for row in each.rows if _counts(row))
    assert rows[RowOutcome.SUCCESS] == rows[RowOutcome.COMPENSATED]
    assert set(found.undone) == set(found.done)


def _counts(row: StepRow) -> bool:
    return row.capability_id in {"work", "unwork"}


def _is_in_order(block: tuple[Item, ...]) -> bool:
    """Whether nothing in it runs beside anything else."""
    beside = {"fork", "settled", "race"}
    return all(
        item.kind not in beside and item.number * (item.kind == "loop") < 2 and all(map(_is_in_order, item.blocks))
        for item in block
    )


CRASHES = st.sets(st.integers(0, 25), max_size=5)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(blocks(2, may_fail=True).map(named), CRASHES, CRASHES)
def test_a_flow_of_any_shape_comes_to_what_the_interpreter_says_wherever_it_dies(block, before, after):
    expected = interpret(block, START.text)
    found, _ = asyncio.run(run(block, before, after))

    assert (found.state, found.error, found.output) == (expected.state, expected.error, expected.output)
    assert found.minutes == expected.minutes
    assert set(found.done) == set(expected.done)
    assert sorted(found.said) == sorted(expected.said)
    if _is_in_order(block):
        assert list(dict.fromkeys(found.done)) == list(dict.fromkeys(expected.done))
        assert list(dict.fromkeys(found.undone)) == list(dict.fromkeys(expected.undone))
    assert set(found.undone) == set(expected.undone)
    if not before | after:
        assert sorted(found.done) == sorted(expected.done)
        assert sorted(found.undone) == sorted(expected.undone)
    assert found.state in {State.COMPLETED.value, State.FAILED.value}


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(blocks(2, may_fail=True).map(named), CRASHES, CRASHES, st.integers(0, 12))
def test_a_flow_of_any_shape_that_is_cancelled_anywhere_leaves_nothing_done_and_nothing_open(block, before, after, at):
    found, scene = asyncio.run(run(block, before, after, cancelled_at=at))
    undisturbed = interpret(block, START.text)

    assert all(entry.row.state.is_terminal for entry in scene.journal._entries.values())
    if found.state == State.CANCELLED.value:
        _assert_nothing_is_left(found, scene)
    else:  # it had ended, or came to its end before the next boundary
        assert (found.state, found.error, found.output) == (
            undisturbed.state,
            undisturbed.error,
            undisturbed.output,
        )


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(blocks(2, may_fail=True, may_race=True).map(named), CRASHES, CRASHES, st.integers(0, 12))
def test_a_flow_of_any_shape_that_runs_out_of_time_anywhere_leaves_nothing_done_and_nothing_open(
    block, before, after, at
):
    found, scene = asyncio.run(run(block, before, after, out_of_time_at=at))

    assert all(entry.row.state.is_terminal for entry in scene.journal._entries.values())
    if found.state != State.COMPLETED.value:
        _assert_nothing_is_left(found, scene)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(blocks(2, may_fail=True, may_wait=False).map(named))
def test_a_flow_of_any_shape_that_waits_for_nothing_comes_to_the_same_without_a_journal(block):
    expected, world = interpret(block, START.text), World()
    scene = Scene(*Layout(profile=Profile.EPHEMERAL).plans(block))
    substitutes = {"work": world.work, "unwork": world.unwork, "ask": world.ask}
    outcome = asyncio.run(scene.new_host(substitutes=substitutes, journal=None).run("reference", START))

    assert (outcome.error.code if isinstance(outcome, Failed) else None) == expected.error
    assert (outcome.value.text if isinstance(outcome, Completed) else None) == expected.output
    assert sorted(world.done) == sorted(expected.done)
    assert sorted(world.undone) == sorted(expected.undone)
    if _is_in_order(block):
        assert (world.done, world.undone) == (expected.done, expected.undone)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(blocks(2, may_fail=True, may_race=True).map(named), CRASHES, CRASHES)
def test_a_flow_that_fails_beside_something_else_leaves_nothing_done_and_nothing_open(block, before, after):
    found, scene = asyncio.run(run(block, before, after))

    assert all(entry.row.state.is_terminal for entry in scene.journal._entries.values())
    if found.state == State.FAILED.value:
        _assert_nothing_is_left(found, scene)
