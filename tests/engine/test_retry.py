"""An operator tries again: undos that failed for good, and attempts that are due later."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from engine_plans import BUDGET, SIGNED, Refused, Submit, archive, extract, plan, upload, use
from engine_scene import Crash, Scene

from flowx_runtime import Backoff, Failed, Suspended
from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.capabilities import capability
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.host.errors import NothingToRetry, NotRunnable, UnknownInstance
from flowx_runtime.host.outcome import Compensation
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, Step

ORDER = Submit(document_id="o")
LATER = Backoff.exponential_jitter("PT1H", "PT1H")


async def stuck(scene: Scene) -> Failed:
    """An instance whose first step is not undone, while the second one is."""
    scene.world.raising |= {"document.extract": Refused(), "ocr.cancel": ConnectionError("away")}
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.compensation is Compensation.FAILED
    return outcome


async def test_an_undo_that_failed_is_attempted_anew_and_the_others_are_not():
    scene = Scene(plan(upload(0), archive(1), extract(2)))
    outcome = await stuck(scene)
    del scene.world.raising["ocr.cancel"]
    again = await scene.host.retry(outcome.instance_id, "ada")
    assert isinstance(again, Failed)
    assert (again.error.code, again.compensation) == ("ocr.refused", Compensation.COMPLETED)
    assert await scene.state() is State.FAILED
    assert scene.world.effects == ["ocr.upload(o)", "offer.archive(o)", "offer.unarchive(o)", "ocr.cancel(job-o)"]
    assert (await scene.rows())[-2:] == ["reopened|0|flow.reopened|Success", "|0|ocr.cancel|Compensated"]
    assert (await scene.history()).rows[-2].name == "ada"
    assert (await scene.host.replay(outcome.instance_id)).is_same


async def test_an_undo_that_fails_again_has_all_its_attempts_again_and_can_be_retried_again():
    scene = Scene(plan(upload(0), extract(1)))
    outcome = await stuck(scene)
    before = len(await scene.rows())
    assert (await scene.host.retry(outcome.instance_id)).compensation is Compensation.FAILED  # type: ignore[union-attr]
    assert (await scene.rows())[before:] == ["reopened|0|flow.reopened|Success", *["|0|ocr.cancel|Failure"] * 3]
    del scene.world.raising["ocr.cancel"]
    await scene.host.retry(outcome.instance_id)
    assert await scene.state() is State.FAILED


async def test_a_crash_after_reopening_leaves_the_undo_to_recovery():
    scene = Scene(plan(upload(0), extract(1)))
    outcome = await stuck(scene)
    del scene.world.raising["ocr.cancel"]
    scene.journal.crash_before = {len(scene.journal.commits)}
    with pytest.raises(Crash):
        await scene.host.retry(outcome.instance_id)
    assert await scene.state() is State.COMPENSATING
    await scene.recover()
    assert await scene.state() is State.FAILED


async def test_an_attempt_that_is_due_later_is_made_now_and_its_count_goes_on():
    retried = replace(extract(1), policy=PolicySet("patient", retry=Retry(3, LATER)))
    scene = Scene(plan(upload(0), retried))
    scene.world.raising["document.extract"] = ConnectionError("away")
    parked = await scene.host.run("document.process", ORDER)
    assert isinstance(parked, Suspended)
    scene.clock.advance(timedelta(seconds=1))
    again = await scene.host.retry(parked.instance_id)
    assert isinstance(again, Suspended)
    assert [row for row in await scene.rows() if "extract" in row] == ["|1|document.extract|Failure"] * 2
    wake = (await scene.history()).instance.wake
    assert wake is not None
    assert wake.at - scene.clock.now() > timedelta(minutes=1)
    del scene.world.raising["document.extract"]
    scene.clock.advance(timedelta(seconds=1))
    await scene.host.retry(parked.instance_id)
    assert await scene.state() is State.COMPLETED


@capability("note.keep", version="1.0.0", authorization=Internal(), idempotent=True)
async def keep_note(request: Submit, ctx) -> None:
    async def work() -> None:
        _TRIES.append(ctx.attempt)
        if len(_TRIES) < 2:
            raise ConnectionError("away")

    await ctx.once("keep", work, retry=LATER.max_attempts(3))


_TRIES: list[int] = []


async def test_a_step_inside_a_capability_that_is_due_later_is_tried_now():
    _TRIES.clear()
    step = Step(0, "note.keep", replace(use(keep_note, Submit, None), has_steps=True))
    scene = Scene(plan(step))
    parked = await scene.host.run("document.process", ORDER)
    assert isinstance(parked, Suspended)
    await scene.host.retry(parked.instance_id)
    assert await scene.state() is State.COMPLETED
    assert len(_TRIES) == 2


async def test_what_has_nothing_to_try_again_says_so_and_stays_as_it_is():
    waiting = AwaitSignal(1, "offer.signed", SIGNED, BUDGET)
    scene = Scene(plan(upload(0), waiting))
    parked = await scene.host.run("document.process", ORDER)
    before = await scene.history()
    with pytest.raises(NothingToRetry, match="deliver its signal"):
        await scene.host.retry(parked.instance_id)
    after = await scene.history()
    assert (after.rows, after.instance.waits) == (before.rows, before.instance.waits)
    assert await scene.journal.live_leases(parked.instance_id) == 0
    await scene.host.cancel(parked.instance_id)
    with pytest.raises(NothingToRetry, match="has ended Cancelled"):
        await scene.host.retry(parked.instance_id)
    with pytest.raises(UnknownInstance):
        await scene.host.retry(uuid4())


async def test_a_node_without_the_plan_reopens_nothing():
    scene = Scene(plan(upload(0), extract(1)))
    outcome = await stuck(scene)
    scene.plans = (plan(upload(0), extract(1), digest="another"),)
    with pytest.raises(NotRunnable):
        await scene.new_host().retry(outcome.instance_id)
    assert await scene.state() is State.COMPENSATION_FAILED
