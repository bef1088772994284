"""A run that is interrupted anywhere is, in effects and rows, the run that was not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from engine_plans import Refused, Signed, Submit, document_plan, saga_plan
from engine_scene import Crash, Scene
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_runtime.journal.records import State

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


@settings(max_examples=120, deadline=None)
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
