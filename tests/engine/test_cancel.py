"""A cancelled instance goes back at its next boundary and ends Cancelled, whatever happens to whoever asked."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from engine_plans import EXTRACT, Submit, archive, extract, plan, saga_plan, upload
from engine_scene import Crash, Scene

from flowx_runtime.authoring.merge import Merge
from flowx_runtime.host.errors import InstanceTerminal, UnknownInstance
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Completed, Failed, Suspended
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Delay, ForEach, Parallel, Step, SubFlow

D = Submit(document_id="d")


async def test_a_parked_instance_goes_back_at_once() -> None:
    scene = Scene(saga_plan())
    suspended = await scene.host.run("document.process", D)
    outcome = await scene.host.cancel(suspended.instance_id, "customer left")
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.detail) == ("flow.cancelled", "customer left")
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects == ["ocr.upload(d)", "ocr.cancel(job-d)"]
    assert await scene.host.cancel(suspended.instance_id, "again") == outcome


async def test_a_running_instance_finishes_its_step_and_goes_back() -> None:
    scene = Scene(plan(upload(), archive(1), extract(2), Step(3, "again", EXTRACT)))
    asked = []
    scene.world.hooks["offer.archive"] = lambda: asked.append(
        asyncio.ensure_future(scene.host.cancel(scene.only(), "stop"))
    )
    scene.journal.turns_to_answer = 20
    await scene.host.run("document.process", D)
    await asyncio.gather(*asked)
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects[2:] == ["document.extract(job-d)", "offer.unarchive(d)", "ocr.cancel(job-d)"]


@pytest.mark.parametrize("merge", [Merge.ALL_MUST_SUCCEED, Merge.ALL_SETTLED])
async def test_a_merge_that_forgives_failures_does_not_forgive_a_cancel(merge) -> None:
    scene = Scene(plan(Parallel(0, (1, 2), 3, merge), Delay(1, "a", timedelta(days=1)), archive(2), extract(3)))
    await scene.host.run("document.process", D)
    await scene.host.cancel(scene.only(), "stop")
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects == ["offer.archive(d)", "offer.unarchive(d)"]


async def test_a_loop_that_goes_on_after_errors_does_not_go_on_after_a_cancel() -> None:
    loop = ForEach(0, lambda ctx: [D, D], Submit, 3, continue_on_error=True)
    scene = Scene(plan(loop, archive(1), Delay(2, "a", timedelta(days=1)), extract(3)))
    await scene.host.run("document.process", D)
    await scene.host.cancel(scene.only(), "stop")
    assert await scene.state() is State.CANCELLED
    assert scene.world.effects == ["offer.archive(d)", "offer.unarchive(d)"]


async def test_what_has_ended_cannot_be_cancelled_nor_what_never_was() -> None:
    scene = Scene(plan(upload()))
    completed = await scene.host.run("document.process", D)
    with pytest.raises(InstanceTerminal):
        await scene.host.cancel(completed.instance_id, "late")
    assert isinstance(await scene.host.outcome(completed.instance_id), Completed)
    with pytest.raises(UnknownInstance):
        await scene.host.cancel(uuid4(), "who")


async def test_the_request_outlives_the_host_that_took_it() -> None:
    scene = Scene(saga_plan())
    suspended = await scene.host.run("document.process", D)
    assert await scene.journal.request_cancel(suspended.instance_id, "stop") is None
    await scene.new_host().sweep_once()
    assert await scene.state() is State.CANCELLED


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("commit", range(2, 6))
async def test_a_cancel_survives_a_crash_at_every_commit(commit, after) -> None:
    scene = Scene(saga_plan())
    suspended = await scene.host.run("document.process", D)
    (scene.journal.crash_after if after else scene.journal.crash_before).add(commit)
    try:
        await scene.host.cancel(suspended.instance_id, "stop")
    except Crash:
        await scene.recover()
    assert await scene.state() is State.CANCELLED
    assert set(scene.world.effects) == {"ocr.upload(d)", "ocr.cancel(job-d)"}


async def test_an_undo_that_fails_is_said_and_not_called_cancelled() -> None:
    scene = Scene(saga_plan())
    suspended = await scene.host.run("document.process", D)
    scene.world.raising["ocr.cancel"] = RuntimeError("no")
    await scene.host.cancel(suspended.instance_id, "stop")
    assert await scene.state() is State.COMPENSATION_FAILED


def family() -> Scene:
    child = saga_plan(flow_id="child")
    return Scene(child, plan(archive(0), SubFlow(1, "child", "child", "1.0.0", lambda ctx: ctx.input), extract(2)))


async def test_cancelling_a_parent_cancels_the_child_it_waits_for() -> None:
    scene = family()
    suspended = await scene.host.run("document.process", D)
    (child,) = set(scene.journal._entries) - {suspended.instance_id}
    await scene.host.cancel(suspended.instance_id, "stop")
    assert await scene.state(suspended.instance_id) is State.CANCELLED
    assert await scene.state(child) is State.CANCELLED
    assert {"ocr.cancel(job-d)", "offer.unarchive(d)"} <= set(scene.world.effects)


async def test_a_parent_cancelled_by_a_sweep_leaves_no_child_behind() -> None:
    scene = family()
    suspended = await scene.host.run("document.process", D)
    await scene.journal.request_cancel(suspended.instance_id, "stop")
    for _ in range(2):
        await scene.new_host().sweep_once()
    states = {entry.row.state for entry in scene.journal._entries.values()}
    assert states == {State.CANCELLED}


async def test_cancelling_a_child_fails_its_parent() -> None:
    scene = family()
    suspended = await scene.host.run("document.process", D)
    (child,) = set(scene.journal._entries) - {suspended.instance_id}
    await scene.host.cancel(child, "stop")
    assert await scene.state(child) is State.CANCELLED
    assert await scene.state(suspended.instance_id) is State.FAILED


async def test_on_postgres_as_well(postgres_dsn, schema) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    scene = Scene(saga_plan())
    capabilities = [cls(scene.world) for cls in _classes()]
    async with FlowHost([saga_plan()], capabilities, journal=journal, sweep_interval=None) as host:
        suspended = await host.run("document.process", D)
        assert isinstance(suspended, Suspended)
        outcome = await host.cancel(suspended.instance_id, "stop\x00")
        assert isinstance(outcome, Failed)
        assert (await host.inspect(suspended.instance_id)).instance.state is State.CANCELLED


def _classes():
    from engine_plans import Archive, Cancel, Escalate, Extract, Unarchive, Upload

    return [Upload, Cancel, Escalate, Archive, Unarchive, Extract]
