"""A run that is interrupted anywhere is, in effects and rows, the run that was not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from engine_plans import (
    ARCHIVE,
    CANCEL,
    UNARCHIVE,
    UPLOAD,
    NotInTime,
    Refused,
    Signed,
    Submit,
    archive,
    document_plan,
    plan,
    saga_plan,
    upload,
)
from engine_scene import Crash, Scene
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.engine.identity import started_id
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Branch, Delay, Fail, ForEach, Parallel, Plan, Step, SubFlow

ORDER = Submit(document_id="o")


async def drive(scene: Scene, *, signals: bool) -> None:
    """What the world does to an instance, whatever becomes of the processes that run it."""
    try:
        await scene.host.run("document.process", ORDER)
    except Crash:
        await scene.recover()
    if signals:
        for _ in range(20):
            history = await scene.history()
            if any(wait.signal_id == "offer.signed" for wait in history.instance.waits):
                break
            await scene.recover()
        try:
            await scene.host.signal(scene.only(), Signed(by="ada"), delivery_id="the one")
        except Crash:
            await scene.recover()
    for _ in range(40):
        state = await scene.state()
        if state.is_terminal:
            return
        if state is State.SUSPENDED and (await scene.journal.next_wake()) is not None:
            scene.clock.move_to(await scene.journal.next_wake())
        await scene.recover()
    raise AssertionError("it never ends")


@settings(max_examples=120)
@given(
    before=st.sets(st.integers(0, 14), max_size=5),
    after=st.sets(st.integers(0, 14), max_size=5),
    fails=st.booleans(),
)
def test_a_saga_with_waits_ends_the_same_wherever_its_processes_die(before, after, fails):
    import asyncio

    async def rows_and_effects(crash_before: set[int], crash_after: set[int]) -> tuple[list[str], State, list[str]]:
        scene = Scene(saga_plan())
        if fails:
            scene.world.raising["document.extract"] = Refused()
        scene.journal.crash_before |= crash_before
        scene.journal.crash_after |= crash_after
        await drive(scene, signals=True)
        return await scene.rows(), await scene.state(), list(dict.fromkeys(scene.world.effects))

    undisturbed = asyncio.run(rows_and_effects(set(), set()))
    assert asyncio.run(rows_and_effects(before, after)) == undisturbed


@pytest.mark.parametrize("when", ["crash_before", "crash_after"])
@pytest.mark.parametrize("commit", range(6))
async def test_a_poll_ends_the_same_wherever_its_process_dies(when: str, commit: int):
    scene = Scene(document_plan(deadline=timedelta(days=9)))
    getattr(scene.journal, when).add(commit)
    await drive(scene, signals=False)
    assert await scene.state() is State.COMPLETED
    assert await scene.rows() == [
        "|0|ocr.upload|Success",
        *[f"{attempt}|2|ocr.status|Success" for attempt in range(len(await scene.rows()) - 3)],
        "|5|document.extract|Success",
        "|6|document.processed|Success",
    ]
    assert len(await scene.journal.events(scene.only())) == 1


async def test_a_commit_that_went_through_is_never_made_again():
    scene = Scene(document_plan(deadline=timedelta(days=9)))
    scene.journal.crash_after |= {0, 1, 2, 3}
    await drive(scene, signals=False)
    assert len(scene.world.effects) == len(set(scene.world.effects)) + 2
    keys = [ctx.idempotency_key for ctx in scene.world.contexts if ctx.capability_id == "ocr.upload"]
    assert len(keys) == 1


class Batch(Contract):
    items: tuple[Submit, ...]


BATCH = Batch(items=tuple(Submit(document_id=name) for name in "abc"))
MINUTE = timedelta(minutes=1)


def everything_plans(*, fails: bool) -> tuple[Plan[Any, Any], Plan[Any, Any]]:
    """A loop of overlapping elements that wait, a fork that waits twice, a child that waits, and a late failure."""
    nodes: tuple[Any, ...] = (
        ForEach(0, lambda ctx: ctx.input.items, Submit, 3, 2),
        upload(1),
        Delay(2, "in the loop", MINUTE),
        Step(3, "first", ARCHIVE, request=lambda ctx: ctx.input.items[0], compensation=UNARCHIVE),
        Parallel(4, (5, 7), 9, Merge.ALL_MUST_SUCCEED),
        Delay(5, "in a branch", MINUTE),
        Step(6, "one", ARCHIVE, request=lambda ctx: Submit(document_id="one"), compensation=UNARCHIVE),
        Delay(7, "in the other", 3 * MINUTE),
        Step(8, "two", UPLOAD, request=lambda ctx: Submit(document_id="two"), compensation=CANCEL),
        SubFlow(9, "child", "child", "1.0.0", lambda ctx: Submit(document_id="child")),
        Branch(10, lambda ctx: fails, 12),
        Fail(11, NotInTime),
        Delay(12, "last", MINUTE),
    )
    child = plan(archive(0), Delay(1, "in the child", MINUTE), upload(2), flow_id="child")
    return plan(*nodes, flow_id="batch", input=Batch), child


async def run_everything(when: str, commits: set[int], *, fails: bool) -> tuple[set[str], list[str], int]:
    scene = Scene(*everything_plans(fails=fails))
    getattr(scene.journal, when).update(commits)
    try:
        await scene.host.run("batch", BATCH, idempotency_key="k")
    except Crash:
        await scene.recover()
    parent = started_id("batch", None, "k")
    for _ in range(80):
        if (await scene.state(parent)).is_terminal:
            break
        wake = await scene.journal.next_wake()
        if wake is not None:
            scene.clock.move_to(wake)
        await scene.recover()
    states = sorted(entry.row.state.value for entry in scene.journal._entries.values())
    return set(scene.world.effects), [*states, *sorted(await scene.rows(parent))], len(scene.journal.commits)


@pytest.mark.parametrize("fails", [False, True])
async def test_everything_together_ends_the_same_wherever_its_process_dies(fails: bool):
    effects, rows, commits = await run_everything("crash_before", set(), fails=fails)
    assert ("ocr.cancel(job-child)" in effects) is fails
    for commit in range(commits):
        for when in ("crash_before", "crash_after"):
            assert await run_everything(when, {commit}, fails=fails) == (effects, rows, ANY), (when, commit)
