"""What a dead process may have been in the middle of is made once more before the flow goes back; nothing else is."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import CANCEL, EXTRACT, STATUS, Job, NotInTime, Submit, archive, extract, plan, upload
from engine_scene import Crash, Scene

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.authoring.vocabulary import Category, SubFlowMode
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Parallel, Plan, Step, SubFlow

ORDER = Submit(document_id="o")
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


class Busy(FlowError, code="archive.busy", category=Category.UNAVAILABLE):
    """Not now."""


async def run_and_die(scene: Scene, *, before: int) -> Any:
    scene.journal.crash_before.add(before)
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    return scene.only()


@pytest.mark.parametrize("ending", [State.CANCELLED, State.TIMED_OUT])
async def test_a_step_whose_row_never_landed_is_made_again_and_undone(ending: State) -> None:
    scene = Scene(plan(upload(0), archive(1), extract(2), deadline=DAY))
    instance_id = await run_and_die(scene, before=1)
    assert scene.world.effects == ["ocr.upload(o)", "offer.archive(o)"]
    if ending is State.CANCELLED:
        await scene.journal.request_cancel(instance_id, "stop")
        await scene.recover()
    else:
        scene.clock.advance(DAY)
        await scene.new_host().sweep_once()
    assert await scene.state() is ending
    assert scene.world.effects[2:] == ["offer.archive(o)", "offer.unarchive(o)", "ocr.cancel(job-o)"]
    # Once more under the same key: whoever is asked twice can tell.
    keys = {ctx.idempotency_key for ctx in scene.world.contexts if ctx.capability_id == "offer.archive"}
    assert len(keys) == 1


async def test_a_step_that_fails_when_it_is_made_again_is_not_undone() -> None:
    scene = Scene(plan(upload(0), archive(1), extract(2)))
    instance_id = await run_and_die(scene, before=1)
    await scene.journal.request_cancel(instance_id, "stop")
    scene.world.raising["offer.archive"] = Busy()
    await scene.recover()
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects[-1] == "ocr.cancel(job-o)"
    assert "offer.unarchive(o)" not in scene.world.effects
    assert (await scene.host.replay(instance_id)).is_same


async def test_a_step_without_an_undo_is_not_made_again() -> None:
    scene = Scene(plan(upload(0), extract(1), archive(2)))
    instance_id = await run_and_die(scene, before=1)
    await scene.journal.request_cancel(instance_id, "stop")
    await scene.recover()
    assert scene.world.effects == ["ocr.upload(o)", "document.extract(job-o)", "ocr.cancel(job-o)"]


async def test_a_branch_that_fails_at_once_does_not_have_the_other_one_forgotten() -> None:
    read = Step(2, "document.extract", EXTRACT, lambda ctx: Job(job_id="x"))
    scene = Scene(plan(Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED), upload(1), read, archive(3)))

    async def slow(request: Submit, ctx: Any) -> Job:
        for _ in range(5):
            await asyncio.sleep(0)
        scene.world.effects.append("uploaded")
        return Job(job_id="o")

    scene.new_host(substitutes={"ocr.upload": slow})
    await run_and_die(scene, before=0)
    assert scene.world.effects == ["document.extract(x)", "uploaded"]
    scene.world.raising["document.extract"] = NotInTime()
    await scene.recover(substitutes={"ocr.upload": slow})
    assert await scene.state() is State.FAILED
    assert scene.world.effects[2:] == ["uploaded", "ocr.cancel(o)"]


def retried(**changes: Any) -> Plan[Any, Any]:
    policy = PolicySet("later", retry=Retry(3, Backoff.fixed(HOUR)))
    asked = Step(0, "ocr.status", STATUS, lambda ctx: Job(job_id="j"), CANCEL, policy)
    return plan(asked, extract(1), **changes)


@pytest.mark.parametrize("ending", [State.CANCELLED, State.TIMED_OUT])
async def test_an_attempt_that_was_only_waited_for_is_not_made(ending: State) -> None:
    scene = Scene(retried(deadline=HOUR / 2))
    scene.world.raising["ocr.status"] = Busy()
    await scene.host.run("document.process", ORDER)
    assert await scene.state() is State.SUSPENDED
    scene.world.raising.clear()
    if ending is State.CANCELLED:
        await scene.host.cancel(scene.only(), "stop")
    else:
        await scene.wake()
    assert await scene.state() is ending
    assert scene.world.effects == []


async def test_an_attempt_that_had_been_waited_for_and_was_under_way_is_made_again() -> None:
    scene = Scene(retried())
    scene.world.raising["ocr.status"] = Busy()
    await scene.host.run("document.process", ORDER)
    scene.world.raising.clear()
    scene.journal.crash_before.add(1)
    await scene.wake()
    assert await scene.state() is State.SUSPENDED
    await scene.journal.request_cancel(scene.only(), "stop")
    await scene.recover()
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects == ["ocr.status(j)"] * 2 + ["ocr.cancel(j)"]


async def test_what_was_left_unbegun_does_nothing_when_it_is_cancelled() -> None:
    node = SubFlow(0, "child", "child", "1.0.0", lambda ctx: ctx.input, SubFlowMode.DETACHED)
    scene = Scene(plan(node), plan(upload(0), flow_id="child"))
    await scene.host.run("document.process", ORDER)
    (child,) = [entry.row for entry in scene.journal._entries.values() if entry.row.flow_id == "child"]
    assert child.state is State.PENDING
    await scene.host.cancel(child.instance_id, "stop")
    assert await scene.state(child.instance_id) is State.CANCELLED
    assert scene.world.effects == []


async def test_what_was_left_unbegun_and_then_died_in_its_first_step_is_undone() -> None:
    node = SubFlow(0, "child", "child", "1.0.0", lambda ctx: ctx.input, SubFlowMode.DETACHED)
    scene = Scene(plan(node), plan(upload(0), archive(1), flow_id="child"))
    await scene.host.run("document.process", ORDER)
    (child,) = [entry.row for entry in scene.journal._entries.values() if entry.row.flow_id == "child"]
    commits = len(scene.journal.commits)
    scene.journal.crash_before.add(commits + 1)  # the first says that it is begun
    await scene.host.sweep_once()
    assert scene.world.effects == ["ocr.upload(o)"]
    await scene.journal.request_cancel(child.instance_id, "stop")
    await scene.recover()
    assert scene.world.effects == ["ocr.upload(o)", "ocr.upload(o)", "ocr.cancel(job-o)"]
