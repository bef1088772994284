"""A parent that goes back ends after its inline children, and undoes what they complete meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import SIGNED, Job, NotInTime, Signed, Submit, Ticket, archive, extract, plan, upload
from engine_scene import TTL, Crash, Scene

from flowx_runtime.authoring.merge import Merge
from flowx_runtime.engine.left_children import LOOK_AGAIN
from flowx_runtime.host.outcome import Failed, Suspended
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, Delay, Fail, ForEach, Parallel, Plan, Step, SubFlow

ORDER = Submit(document_id="o")
DAY = timedelta(days=1)
CHILD = Submit(document_id="c")


def child_of(index: int, flow_id: str = "child") -> SubFlow:
    return SubFlow(index, flow_id, flow_id, "1.0.0", lambda ctx: CHILD)


def beside_a_child(child: str = "child") -> Plan[Any, Any]:
    """A step, then a child beside a branch that fails after a day."""
    fork = Parallel(1, (2, 3), 5, Merge.ALL_MUST_SUCCEED)
    return plan(archive(0), fork, child_of(2, child), Delay(3, "rest", DAY), Fail(4, NotInTime))


def waiting_child(**changes: Any) -> Plan[Any, Any]:
    nodes = (upload(0), AwaitSignal(1, "signed", SIGNED, 7 * DAY), archive(2))
    return plan(*nodes, **({"flow_id": "child", "output": Job, "returns": lambda ctx: ctx.get(Job)} | changes))


async def states(scene: Scene) -> dict[str, State]:
    return {entry.row.flow_id: entry.row.state for entry in scene.journal._entries.values()}


async def ids(scene: Scene) -> dict[str, Any]:
    return {entry.row.flow_id: entry.row.instance_id for entry in scene.journal._entries.values()}


async def sweep_to_the_end(scene: Scene) -> None:
    """Hosts come and go until every instance has ended; their leases run out."""
    for _ in range(20):
        if all(state.is_terminal for state in (await states(scene)).values()):
            return
        for entry in scene.journal._entries.values():
            entry.lease = replace(entry.lease, expires_at=scene.clock.now())
        await scene.new_host().sweep_once()
    raise AssertionError(await states(scene))


class InItsLastStep:
    """A host whose last step of the child is under way while something happens to the parent."""

    def __init__(self, scene: Scene, happens: Any) -> None:
        self.scene = scene
        self.parent_was: list[tuple[State, str | None]] = []

        async def last(request: Submit, ctx: Any) -> Ticket:
            await happens()
            row = (await scene.history((await ids(scene))["document.process"])).instance
            self.parent_was.append((row.state, row.error.code if row.error else None))
            scene.world.effects.append("last step")
            return Ticket(ticket="late")

        self.host = scene.new_host(substitutes={"offer.archive": last}, lease_ttl=2 * DAY)


async def test_a_parent_that_fails_in_another_branch_ends_after_its_child_and_undoes_it() -> None:
    scene = Scene(beside_a_child(), waiting_child())
    outcome = await scene.host.run("document.process", ORDER)
    child = (await ids(scene))["child"]
    last = InItsLastStep(scene, scene.wake)
    scene.new_host()
    await last.host.signal(child, Signed(by="ada"))
    # The failure is in the journal while the parent is parked: nothing makes it go forward again.
    assert last.parent_was == [(State.SUSPENDED, "document.not_read_in_time")]
    assert (await states(scene)) == {"document.process": State.FAILED, "child": State.COMPLETED}
    assert scene.world.effects[2:] == ["last step", "offer.unarchive(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]
    assert (await scene.history(outcome.instance_id)).inbox == ()


async def test_a_parent_that_waits_for_its_child_to_end_is_not_looked_at_meanwhile() -> None:
    scene = Scene(beside_a_child(), waiting_child())
    outcome = await scene.host.run("document.process", ORDER)
    looked: list[int] = []

    async def fails_and_is_swept() -> None:
        await scene.wake()
        before = scene.journal._entries[outcome.instance_id].row.fence
        looked.append(await scene.new_host().sweep_once())
        assert scene.journal._entries[outcome.instance_id].row.fence == before
        assert await scene.journal.next_wake() == scene.clock.now() + LOOK_AGAIN
        assert isinstance(await scene.host.outcome(outcome.instance_id), Suspended)

    last = InItsLastStep(scene, fails_and_is_swept)
    scene.new_host()
    await last.host.signal((await ids(scene))["child"], Signed(by="ada"))
    assert looked == [0]
    assert isinstance(await scene.host.outcome(outcome.instance_id), Failed)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("commit", range(4, 12))
async def test_a_crash_at_any_commit_after_the_failure_leaves_nothing_done(commit: int, *, after: bool) -> None:
    scene = Scene(beside_a_child(), waiting_child())
    await scene.host.run("document.process", ORDER)
    (scene.journal.crash_after if after else scene.journal.crash_before).add(commit)

    async def fails() -> None:
        await scene.wake()

    last = InItsLastStep(scene, fails)
    scene.new_host()
    with contextlib.suppress(Crash):
        await last.host.signal((await ids(scene))["child"], Signed(by="ada"))
    await sweep_to_the_end(scene)
    assert (await states(scene))["document.process"] is State.FAILED
    undone = {effect for effect in scene.world.effects if "un" in effect or "cancel" in effect}
    assert undone >= {"ocr.cancel(job-c)", "offer.unarchive(o)"}
    if (await states(scene))["child"] is State.COMPLETED:
        assert list(dict.fromkeys(scene.world.effects))[-3:] == [
            "offer.unarchive(c)",
            "ocr.cancel(job-c)",
            "offer.unarchive(o)",
        ]


async def test_the_child_of_a_child_ends_first() -> None:
    middle = plan(upload(0), child_of(1, "child"), flow_id="middle")
    scene = Scene(beside_a_child("middle"), middle, waiting_child())
    outcome = await scene.host.run("document.process", ORDER)
    last = InItsLastStep(scene, scene.wake)
    scene.new_host()
    await last.host.signal((await ids(scene))["child"], Signed(by="ada"))
    await scene.new_host().sweep_once()
    assert await scene.state(outcome.instance_id) is State.FAILED
    assert all(state.is_terminal for state in (await states(scene)).values())
    done = [effect for effect in scene.world.effects if "(" in effect]
    assert done[-4:-1] == ["offer.unarchive(c)", "ocr.cancel(job-c)", "ocr.cancel(job-c)"]
    assert done[-1] == "offer.unarchive(o)"


async def test_children_of_overlapping_elements_are_undone_last_first() -> None:
    names = ("a", "b", "c")
    loop = ForEach(0, lambda ctx: tuple(Submit(document_id=name) for name in names), Submit, 3, 3)
    node = SubFlow(1, "child", "child", "1.0.0", lambda ctx: ctx.get(Submit))
    parent = plan(loop, node, Step(2, "document.extract", extract(2).capability))
    child = plan(upload(0), Delay(1, "rest", DAY), flow_id="child", output=Job, returns=lambda ctx: ctx.get(Job))
    scene = Scene(parent, child)
    scene.world.raising["document.extract"] = NotInTime()
    outcome = await scene.host.run("document.process", ORDER)
    await scene.wake()
    await sweep_to_the_end(scene)
    assert await scene.state(outcome.instance_id) is State.FAILED
    assert {effect for effect in scene.world.effects if "cancel" in effect} == {
        f"ocr.cancel(job-{name})" for name in names
    }


async def test_a_child_whose_start_is_under_way_when_a_sibling_fails_is_stopped() -> None:
    fork = Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED)
    scene = Scene(plan(fork, child_of(1), Fail(2, NotInTime), flow_id="document.process"), waiting_child())
    start, is_parent = scene.journal.start, [True]

    async def slow_start(*args: Any, **named: Any) -> Any:
        if not is_parent.pop():
            for _ in range(20):
                await asyncio.sleep(0)
        is_parent.append(False)
        return await start(*args, **named)

    is_parent[:] = [False, True]
    scene.journal.start = slow_start  # type: ignore[method-assign]
    await scene.host.run("document.process", ORDER)
    assert set(await states(scene)) == {"document.process", "child"}
    await scene.new_host().sweep_once()
    await scene.new_host().sweep_once()
    assert await states(scene) == {"document.process": State.FAILED, "child": State.CANCELLED}


async def test_a_child_whose_time_is_up_as_well_is_not_cancelled() -> None:
    parent = plan(archive(0), child_of(1), deadline=DAY)
    scene = Scene(parent, waiting_child())
    await scene.host.run("document.process", ORDER)
    scene.clock.advance(DAY + TTL)
    await scene.new_host().sweep_once()
    await scene.new_host().sweep_once()
    assert await states(scene) == {"document.process": State.TIMED_OUT, "child": State.TIMED_OUT}
    assert scene.world.effects[2:] == ["ocr.cancel(job-c)", "offer.unarchive(o)"]
