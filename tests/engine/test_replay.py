"""A history walked again: every shape takes its own path, whatever the clock says; a change of path is found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import (
    EXTRACT,
    PROCESSED,
    Fields,
    Job,
    NotInTime,
    OcrCompleted,
    Processed,
    Signed,
    Submit,
    archive,
    document_plan,
    extract,
    plain_poll_plan,
    plan,
    saga_plan,
    upload,
)
from engine_scene import Scene
from secret_plans import Approved, application, secret_plan

from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Branch, Delay, Emit, Fail, ForEach, Jump, Parallel, Step, SubFlow, Switch

D = Submit(document_id="d")
DAY = timedelta(days=1)


def when_plan(holds: bool) -> Any:
    return plan(upload(), Branch(1, lambda ctx: holds, 4), archive(2), Jump(3, 5), extract(4), Delay(5, "d", DAY))


def switch_plan() -> Any:
    return plan(
        upload(),
        Switch(1, lambda ctx: ctx.get(Job).job_id, (("job-x", 2), ("job-d", 4)), 6),
        archive(2),
        Jump(3, 7),
        extract(4),
        Jump(5, 7),
        Delay(6, "d", DAY),
        Emit(7, "done", PROCESSED, lambda ctx: Processed(document_id=ctx.input.document_id, fields=1)),
    )


def loop_plan(concurrency: int) -> Any:
    return plan(
        ForEach(0, lambda ctx: [Submit(document_id=str(n)) for n in range(4)], Submit, 4, concurrency),
        upload(1),
        Delay(2, "d", DAY),
        archive(3),
        extract(4),
        output=Fields,
        returns=lambda ctx: Fields(count=len(ctx.results(Job))),
    )


def fork_plan(merge: Any) -> Any:
    return plan(
        Parallel(0, (1, 2, 4), 5, merge), upload(1), Delay(2, "d", DAY), archive(3), Delay(4, "e", 2 * DAY), extract(5)
    )


def unwinding_plan() -> Any:
    return plan(upload(), ForEach(1, lambda ctx: [D, D], Submit, 3), archive(2), Fail(3, NotInTime))


def family(mode: SubFlowMode) -> tuple[Any, Any]:
    child = plan(archive(0), Delay(1, "d", DAY), flow_id="child")
    node = SubFlow(1, "child", "child", "1.0.0", lambda ctx: Submit(document_id=f"c-{ctx.input.document_id}"), mode)
    return plan(upload(), node, extract(2)), child


CORPUS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "linear": ((plan(upload(), archive(1), extract(2)),), None),
    "when holds": ((when_plan(True),), None),
    "when does not hold": ((when_plan(False),), None),
    "switch": ((switch_plan(),), None),
    "loop": ((loop_plan(1),), None),
    "loop with overlap": ((loop_plan(3),), None),
    "fork": ((fork_plan(Merge.ALL_MUST_SUCCEED),), None),
    "fork, first success": ((fork_plan(Merge.FIRST_SUCCESS),), None),
    "fork, settled": ((fork_plan(Merge.ALL_SETTLED),), None),
    "sub-flow inline": (family(SubFlowMode.INLINE), None),
    "sub-flow detached": (family(SubFlowMode.DETACHED), None),
    "failure with unwind": ((unwinding_plan(),), None),
    "poll ended by its predicate": ((document_plan(),), None),
    "poll ended by a signal": ((document_plan(),), OcrCompleted(job_id="j")),
    "await ended by a signal": ((saga_plan(),), Signed(by="ada")),
    "await timed out": ((saga_plan(),), None),
    "await timed out without a block": ((saga_plan(has_block=False),), None),
    "poll out of budget": ((plain_poll_plan(),), None),
}


async def run(plans: tuple[Any, ...], message: Any, *, parked: bool = False) -> tuple[Scene, Any]:
    scene = Scene(*plans)
    scene.world.ready_after = 10**9 if message is not None or plans[0].nodes[-1].index == 3 else 3
    first = await scene.host.run("document.process", D)
    if not parked:
        if message is not None:
            await scene.host.signal(first.instance_id, message)
        await scene.to_the_end(first.instance_id, passes=2000)
    return scene, first.instance_id


@pytest.mark.parametrize(("plans", "message"), CORPUS.values(), ids=CORPUS.keys())
@pytest.mark.parametrize("parked", [False, True], ids=["ended", "as it first rests"])
async def test_every_shape_replays_the_same_to_the_byte_a_hundred_days_later(plans, message, parked) -> None:
    scene, instance_id = await run(plans, message, parked=parked)
    effects, stored = list(scene.world.effects), await scene.journal.read(instance_id)
    commits, calls = len(scene.journal.commits), len(scene.journal._entries)
    first = await scene.host.replay(instance_id)
    assert first.is_same, str(first.difference)
    scene.clock.advance(100 * DAY)
    second = await scene.new_host().replay(instance_id)
    assert "\n".join(second.path).encode() == "\n".join(first.path).encode()
    assert second == first
    assert (scene.world.effects, await scene.journal.read(instance_id)) == (effects, stored)
    assert (len(scene.journal.commits), len(scene.journal._entries)) == (commits, calls)


async def test_every_row_of_an_ended_run_is_on_the_path() -> None:
    scene, instance_id = await run((loop_plan(3),), None)
    replayed = await scene.host.replay(instance_id)
    assert replayed.rows == len((await scene.history(instance_id)).rows) == 13
    assert len(replayed.path) == 14  # and the output


COUNTER = Counter[str]()


async def test_a_predicate_that_reads_a_global_counter_is_caught() -> None:
    def impure(ctx: Any) -> bool:
        COUNTER["asked"] += 1
        return COUNTER["asked"] % 2 == 1

    scene = Scene(plan(upload(), Branch(1, impure, 3), archive(2), extract(3)))
    outcome = await scene.host.run("document.process", D)
    replayed = await scene.host.replay(outcome.instance_id)
    assert replayed.difference is not None
    assert "node 2: the history has the row 'offer.archive' (Success)" in str(replayed.difference)


CHANGES: dict[str, tuple[Any, str]] = {
    "another capability": (plan(upload(), Step(1, "offer.archive", EXTRACT), extract(2)), "node 1: .*document.extract"),
    "a step more": (plan(upload(), archive(1), extract(2), Step(3, "more", EXTRACT)), "node 3: .*Completed.*'more'"),
    "a step less": (plan(upload(), archive(1)), "node 2: .*only 2 nodes"),
    "another end": (plan(upload(), archive(1), Branch(2, lambda ctx: False, 4), extract(3)), "node 2"),
}


async def completed() -> Scene:
    scene = Scene(plan(upload(), archive(1), extract(2)))
    await scene.host.run("document.process", D)
    return scene


@pytest.mark.parametrize(("changed", "said"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_changed_plan_leaves_the_path_where_it_was_changed(changed, said) -> None:
    scene = await completed()
    before = scene.journal
    other = Scene(changed)
    other.journal = before
    replayed = await other.new_host().replay(scene.only())
    assert replayed.difference is not None
    assert re.search(said, str(replayed.difference)), str(replayed.difference)


async def test_a_changed_request_is_shown_as_it_was_and_as_it_is() -> None:
    scene = await completed()
    changed = replace(archive(1), request=lambda ctx: Submit(document_id="other"))
    other = Scene(plan(upload(), changed, extract(2)))
    other.journal = scene.journal
    replayed = await other.new_host().replay(scene.only())
    assert '"document_id":"d"' in str(replayed.difference)
    assert '"document_id":"other"' in str(replayed.difference)


async def test_a_wait_that_moved_is_found_in_a_parked_instance() -> None:
    scene = Scene(plan(upload(), Delay(1, "d", DAY), extract(2)))
    await scene.host.run("document.process", D)
    other = Scene(plan(upload(), Branch(1, lambda ctx: True, 2), Delay(2, "d", DAY)))
    other.journal = scene.journal
    replayed = await other.new_host().replay(scene.only())
    assert "waits at" in str(replayed.difference)


@pytest.mark.parametrize("ring", [None, KeyRing({"k": bytes(32)}, current="k")], ids=["redacted", "sealed"])
async def test_what_is_redacted_or_sealed_replays_and_is_not_said(ring) -> None:
    scene = Scene(secret_plan())
    scene.new_host(key_ring=ring)
    suspended = await scene.host.run("account.open", application())
    await scene.host.signal(suspended.instance_id, Approved(by="CANARY-boss", code=5))
    assert await scene.state() is State.COMPLETED
    replayed = await scene.host.replay(suspended.instance_id)
    assert replayed.is_same, str(replayed.difference)
    assert "CANARY" not in repr(replayed)


async def test_cancelled_instances_replay() -> None:
    scene, instance_id = await run((saga_plan(),), None, parked=True)
    await scene.host.cancel(instance_id, "stop")
    replayed = await scene.host.replay(instance_id)
    assert replayed.is_same, str(replayed.difference)
