"""Forks, loops and sub-flows: order, overlays, failures, waits, crashes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import (
    NOTE,
    OCR_SIGNAL,
    SIGNED,
    UPLOAD,
    Fields,
    Job,
    NotInTime,
    OcrCompleted,
    Refused,
    Result,
    Signed,
    Submit,
    Ticket,
    archive,
    extract,
    plan,
    upload,
)
from engine_scene import TTL, Crash, Scene

from flowx_runtime import Backoff, Completed, Failed, PolicySet, Retry, Suspended
from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.vocabulary import Profile, SubFlowMode
from flowx_runtime.engine.side_by_side import side_by_side
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, Delay, Fail, ForEach, Parallel, Plan, Step, SubFlow

ORDER = Submit(document_id="o")
DAY = timedelta(days=1)
AGAIN = PolicySet("again", retry=Retry(3, Backoff.fixed("PT0.1S")))
ALL, SETTLED, FIRST = Merge.ALL_MUST_SUCCEED, Merge.ALL_SETTLED, Merge.FIRST_SUCCESS


async def run(scene: Scene, flow: str = "document.process") -> Any:
    return await scene.host.run(flow, ORDER)


def fork(merge: Merge, **changes: Any) -> Plan[Any, Any]:
    """Branch one uploads, branch two archives; an extract after the join."""
    return plan(Parallel(0, (1, 2), 3, merge), upload(1), archive(2), extract(3), **changes)


async def test_branches_of_a_fork_are_joined_and_undone():
    scene = Scene(fork(ALL, output=Ticket, returns=lambda ctx: ctx.get(Ticket)))
    outcome = await run(scene)
    assert isinstance(outcome, Completed)
    assert outcome.value == Ticket(ticket="archived-o")
    assert set(await scene.rows()) == {
        "|1|ocr.upload|Success",
        "|2|offer.archive|Success",
        "|3|document.extract|Success",
    }


async def test_the_undo_of_a_fork_runs_against_commit_order():
    scene = Scene(fork(ALL))
    scene.world.raising["document.extract"] = Refused()
    assert isinstance(await run(scene), Failed)
    done = [row.capability_id for row in (await scene.history()).rows]
    undos = {"ocr.upload": "ocr.cancel", "offer.archive": "offer.unarchive"}
    assert done[3:] == [undos[name] for name in reversed(done[:2])]


async def test_a_failing_branch_cancels_its_siblings_and_is_the_forks_failure():
    waiting = asyncio.Event()
    scene = Scene(plan(Parallel(0, (1, 2), 3, ALL), upload(1), Step(2, "endless", UPLOAD), extract(3)))

    async def endless(request: Submit, ctx: Any) -> Job:
        try:
            await waiting.wait()
        finally:
            scene.world.effects.append("drained")
        raise AssertionError

    calls = iter([scene.world.touch, None])

    async def first_fails(request: Submit, ctx: Any) -> Job:
        if next(calls) is None:
            return await endless(request, ctx)
        await asyncio.sleep(0)
        raise Refused

    scene.new_host(substitutes={"ocr.upload": first_fails})
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "ocr.refused"
    assert scene.world.effects == ["drained"]
    assert await scene.rows() == ["|1|ocr.upload|Failure"]


async def test_a_branch_whose_capability_swallows_its_cancellation_stops_there_and_is_undone():
    scene = Scene(plan(Parallel(0, (1, 2), 4, ALL), archive(1), upload(2), extract(3)))
    begun = asyncio.Event()

    async def fails(request: Submit, ctx: Any) -> Ticket:
        await begun.wait()
        raise Refused

    async def swallows(request: Submit, ctx: Any) -> Job:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        scene.world.effects.append("uploaded")
        return Job(job_id="j")

    scene.new_host(substitutes={"offer.archive": fails, "ocr.upload": swallows})
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "ocr.refused"
    assert scene.world.effects == ["uploaded", "ocr.cancel(j)"]
    assert [row.split("|")[2] for row in await scene.rows()] == ["ocr.upload", "offer.archive", "ocr.cancel"]


async def test_a_branch_that_was_cancelled_makes_no_further_attempt():
    scene = Scene(plan(upload(0), Parallel(1, (2, 3), 4, ALL), archive(2), replace(extract(3), policy=AGAIN)))
    begun = asyncio.Event()

    async def fails(request: Submit, ctx: Any) -> Ticket:
        await begun.wait()
        raise Refused

    async def is_torn_off(request: Job, ctx: Any) -> Fields:
        begun.set()
        scene.world.effects.append(f"attempt {ctx.attempt}")
        if ctx.attempt == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ConnectionError from None
        return Fields(count=1)

    scene.new_host(substitutes={"offer.archive": fails, "document.extract": is_torn_off})
    assert isinstance(await run(scene), Failed)
    assert scene.world.effects == ["ocr.upload(o)", "attempt 1", "ocr.cancel(job-o)"]


async def test_all_settled_goes_on_past_a_failure_and_never_tries_it_again():
    scene = Scene(plan(Parallel(0, (1, 2), 3, SETTLED), upload(1), archive(2), Delay(3, "rest", DAY)))
    scene.world.raising["ocr.upload"] = Refused()
    assert isinstance(await run(scene), Suspended)
    del scene.world.raising["ocr.upload"]
    assert await scene.to_the_end() is State.COMPLETED
    assert sorted(await scene.rows()) == [
        "|1|ocr.upload|Failure",
        "|2|offer.archive|Success",
        "|3|flow.delay|Success",
    ]


async def test_the_first_success_is_remembered_and_the_others_do_not_go_on():
    scene = Scene(
        plan(Parallel(0, (1, 2), 4, FIRST), archive(1), Delay(2, "slow", DAY), upload(3), Delay(4, "rest", DAY))
    )
    assert isinstance(await run(scene), Suspended)
    assert await scene.rows() == ["|1|offer.archive|Success", "|0|flow.joined|Success"]
    assert await scene.to_the_end() is State.COMPLETED
    assert "ocr.upload(o)" not in scene.world.effects


async def test_a_branch_that_lost_is_not_begun_again_by_a_resume():
    scene = Scene(plan(Parallel(0, (1, 2), 3, FIRST), upload(1), archive(2), Delay(3, "rest", DAY)))
    begun = []

    async def never_answers(request: Submit, ctx: Any) -> Job:
        begun.append(ctx.attempt)
        await asyncio.Event().wait()
        raise AssertionError

    substitutes = {"ocr.upload": never_answers}
    assert isinstance(await scene.new_host(substitutes=substitutes).run("document.process", ORDER), Suspended)
    scene.new_host(substitutes=substitutes)
    assert await scene.to_the_end() is State.COMPLETED
    assert begun == [1]


async def test_what_siblings_record_while_a_write_is_under_way_is_written_too():
    scene = Scene(loop(upload(1), archive(2), join=3, max_concurrency=4))
    scene.journal.turns_to_answer = 3
    assert isinstance(await scene.host.run("order.lines", LINES), Completed)
    assert len(await scene.rows()) == 8


@pytest.mark.parametrize("turns", range(8))
async def test_a_sibling_cancelled_while_its_row_is_written_is_undone(turns: int):
    """Whether the row got through must be known, or the unwind would miss it."""
    scene = Scene(plan(Parallel(0, (1, 3), 4, ALL), archive(1), extract(2), upload(3)))
    scene.journal.turns_to_answer = 4

    async def fails(request: Submit, ctx: Any) -> Job:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise Refused

    scene.new_host(substitutes={"ocr.upload": fails, "document.extract": _endless})
    scene.world.hooks["ocr.upload"] = lambda: None
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert await scene.state() is State.FAILED
    assert scene.world.effects == ["offer.archive(o)", "offer.unarchive(o)"]


async def _endless(request: Any, ctx: Any) -> Any:
    await asyncio.Event().wait()


async def test_nothing_is_left_running_when_the_run_itself_is_cancelled():
    tidy = []

    async def slow_to_stop() -> tuple[Any, ...]:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            tidy.append("stopped")
        return ()

    running = asyncio.ensure_future(side_by_side([slow_to_stop] * 3, limit=2, is_decided=lambda _: False))
    for _ in range(3):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tidy == ["stopped", "stopped"]


async def test_after_a_join_the_clock_is_that_of_the_latest_branch():
    seen = []
    tail = Step(3, "x", extract(0).capability, request=lambda ctx: seen.append(ctx.utc_now) or Job(job_id="x"))
    scene = Scene(plan(Parallel(0, (1, 2), 3, ALL), upload(1), archive(2), tail))
    scene.world.hooks["ocr.upload"] = lambda: scene.clock.advance(timedelta(minutes=1))
    started = scene.clock.now()
    await run(scene)
    assert seen == [started + timedelta(minutes=1)]


async def test_a_quorum_that_cannot_be_reached_fails_the_flow():
    scene = Scene(fork(Merge.quorum(2)))
    scene.world.raising["ocr.upload"] = Refused()
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.merge_not_satisfied"


def two_waits() -> Plan[Any, Any]:
    return plan(
        Parallel(0, (1, 3), 5, ALL),
        AwaitSignal(1, "signed", SIGNED, 7 * DAY),
        archive(2),
        AwaitSignal(3, "ocr", OCR_SIGNAL, 3 * DAY),
        upload(4),
        extract(5),
    )


async def test_several_waits_are_open_at_once_and_end_one_by_one():
    scene = Scene(two_waits())
    outcome = await run(scene)
    assert isinstance(outcome, Suspended)
    assert outcome.awaiting == ("offer.signed", "ocr.completed")
    started = scene.clock.now()
    scene.clock.advance(DAY)
    await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    (left,) = (await scene.history()).instance.waits
    assert (left.step_id, left.wake_at) == (1, started + 7 * DAY)
    await scene.host.signal(outcome.instance_id, Signed(by="ada"))
    assert await scene.state() is State.COMPLETED


async def test_one_delivery_ends_one_of_two_waits_for_the_same_signal():
    first, second = AwaitSignal(1, "first", SIGNED, DAY), AwaitSignal(2, "second", SIGNED, DAY)
    scene = Scene(plan(Parallel(0, (1, 2), 3, ALL), first, second, Step(3, "offer.note", NOTE)))
    outcome = await run(scene)
    await scene.host.signal(outcome.instance_id, Signed(by="ada"))
    assert await scene.rows() == ["|1|offer.signed|Success"]
    await scene.host.signal(outcome.instance_id, Signed(by="eve"))
    assert await scene.state() is State.COMPLETED


@pytest.mark.parametrize("when", ["crash_before", "crash_after"])
@pytest.mark.parametrize("commit", [1, 2])
async def test_a_crash_after_one_of_several_waits_loses_neither_the_signal_nor_the_others_due_instant(when, commit):
    scene = Scene(two_waits())
    outcome = await run(scene)
    started = scene.clock.now()
    getattr(scene.journal, when).add(commit)
    try:
        await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    except Crash:
        await scene.recover()
    (left,) = (await scene.history()).instance.waits
    assert (left.step_id, left.wake_at) == (1, started + 7 * DAY)
    assert "|4|ocr.upload|Success" in await scene.rows()


async def test_a_failure_outranks_a_suspension():
    scene = Scene(plan(Parallel(0, (1, 2), 3, ALL), AwaitSignal(1, "signed", SIGNED, DAY), upload(2), extract(3)))
    scene.world.raising["ocr.upload"] = Refused()
    assert isinstance(await run(scene), Failed)


class Order(Contract):
    lines: tuple[Submit, ...]


def loop(*body: Any, join: int, max_concurrency: int = 1, continue_on_error: bool = False, **changes: Any):
    facts: dict[str, Any] = {"input": Order, "flow_id": "order.lines"}
    return plan(
        ForEach(0, lambda ctx: ctx.input.lines, Submit, join, max_concurrency, continue_on_error),
        *body,
        **(facts | changes),
    )


LINES = Order(lines=tuple(Submit(document_id=name) for name in "abcd"))


@pytest.mark.parametrize("max_concurrency", [1, 3])
async def test_the_products_of_a_loop_are_in_element_order(max_concurrency: int):
    def result(ctx: Any) -> Result:
        names = ",".join(job.job_id for job in ctx.results(Job))
        return Result(document_id=names, fields=len(ctx.results(Job)))

    scene = Scene(loop(upload(1), join=2, max_concurrency=max_concurrency, output=Result, returns=result))
    outcome = await scene.host.run("order.lines", LINES)
    assert isinstance(outcome, Completed)
    assert outcome.value == Result(document_id="job-a,job-b,job-c,job-d", fields=4)
    assert sorted(await scene.rows()) == [f"{n}|1|ocr.upload|Success" for n in range(4)]


async def test_elements_that_finish_out_of_order_are_joined_in_order():
    async def last_first(request: Submit, ctx: Any) -> Job:
        for _ in range(10 - 2 * int(ctx.scope)):
            await asyncio.sleep(0)
        return Job(job_id=request.document_id)

    def result(ctx: Any) -> Result:
        names = ",".join(job.job_id for job in ctx.results(Job))
        return Result(document_id=f"{names} {ctx.get(Job).job_id}", fields=0)

    scene = Scene(loop(upload(1), join=2, max_concurrency=4, output=Result, returns=result))
    outcome = await scene.new_host(substitutes={"ocr.upload": last_first}).run("order.lines", LINES)
    assert outcome.value.document_id == "a,b,c,d d"
    assert (await scene.rows())[0] == "3|1|ocr.upload|Success"


async def test_elements_are_undone_with_their_own_values_last_first():
    scene = Scene(loop(upload(1), archive(2), join=3))

    def third_fails():
        if len(scene.world.effects) == 5:
            raise Refused

    scene.world.hooks["offer.archive"] = third_fails
    outcome = await scene.host.run("order.lines", LINES)
    assert isinstance(outcome, Failed)
    assert scene.world.effects[5:] == [
        "ocr.cancel(job-c)",
        "offer.unarchive(b)",
        "ocr.cancel(job-b)",
        "offer.unarchive(a)",
        "ocr.cancel(job-a)",
    ]
    assert len({ctx.idempotency_key for ctx in scene.world.contexts}) == 10


async def test_a_loop_that_tolerates_errors_keeps_them_as_rows_and_does_not_repeat_them():
    scene = Scene(loop(upload(1), Delay(2, "rest", DAY), join=3, continue_on_error=True))
    bad = {"b"}

    async def upload_unless_bad(request: Submit, ctx: Any) -> Job:
        scene.world.effects.append(request.document_id)
        if request.document_id in bad:
            raise Refused
        return Job(job_id=request.document_id)

    scene.new_host(substitutes={"ocr.upload": upload_unless_bad})
    await scene.host.run("order.lines", LINES)
    assert await scene.to_the_end() is State.COMPLETED
    assert scene.world.effects == ["a", "b", "c", "d"]
    assert "1|1|ocr.upload|Failure" in await scene.rows()


async def test_a_sequential_loop_does_not_run_later_elements_past_a_waiting_one():
    scene = Scene(loop(upload(1), Delay(2, "rest", DAY), join=3))
    await scene.host.run("order.lines", LINES)
    assert scene.world.effects == ["ocr.upload(a)"]
    assert await scene.to_the_end() is State.COMPLETED
    assert [f"{n}|2|flow.delay|Success" for n in range(4)] == (await scene.rows())[1::2]


async def test_a_window_holds_as_many_waits_as_it_is_wide():
    scene = Scene(loop(upload(1), Delay(2, "rest", DAY), join=3, max_concurrency=3))
    await scene.host.run("order.lines", LINES)
    assert [wait.scope for wait in (await scene.history()).instance.waits] == ["0", "1", "2"]
    assert await scene.to_the_end() is State.COMPLETED
    assert sorted(scene.world.effects) == [f"ocr.upload({name})" for name in "abcd"]


async def test_scopes_of_nested_loops_are_nested():
    nested = plan(
        ForEach(0, lambda ctx: ctx.input.lines, Submit, 3),
        ForEach(1, lambda ctx: (ctx.get(Submit),) * 2, Submit, 3),
        upload(2),
        flow_id="order.lines",
        input=Order,
        output=Result,
        returns=lambda ctx: Result(document_id="", fields=len(ctx.results(Job))),
    )
    scene = Scene(nested)
    outcome = await scene.host.run("order.lines", Order(lines=LINES.lines[:2]))
    assert await scene.rows() == [f"{a}/{b}|2|ocr.upload|Success" for a in range(2) for b in range(2)]
    assert outcome.value.fields == 4


def child_plan(*nodes: Any, **changes: Any) -> Plan[Any, Any]:
    facts: dict[str, Any] = {"flow_id": "child", "output": Job, "returns": lambda ctx: ctx.get(Job)}
    return plan(*(nodes or (upload(0), archive(1))), **(facts | changes))


def parent_plan(mode: SubFlowMode = SubFlowMode.INLINE, **changes: Any) -> Plan[Any, Any]:
    return plan(
        archive(0),
        SubFlow(1, "child", "child", "1.0.0", lambda ctx: Submit(document_id="c"), mode),
        Step(2, "document.extract", extract(2).capability, request=lambda ctx: Job(job_id="x")),
        **changes,
    )


async def instances(scene: Scene) -> dict[str, Any]:
    return {entry.row.flow_id: entry.row for entry in scene.journal._entries.values()}


async def test_a_child_is_an_instance_of_its_own_and_its_output_a_value_of_the_parent():
    scene = Scene(parent_plan(output=Job, returns=lambda ctx: ctx.get(Job)), child_plan())
    outcome = await run(scene)
    assert isinstance(outcome, Completed)
    assert outcome.value == Job(job_id="job-c")
    child = (await instances(scene))["child"]
    assert (child.state, child.parent_instance_id, child.parent_step_id) == (
        State.COMPLETED,
        outcome.instance_id,
        1,
    )
    assert (await scene.rows(outcome.instance_id))[1] == "|1|child|Success"
    assert (await scene.history(outcome.instance_id)).inbox == ()


async def test_a_later_failure_undoes_the_childs_steps_in_their_place():
    scene = Scene(parent_plan(), child_plan())
    scene.world.raising["document.extract"] = Refused()
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert scene.world.effects == [
        "offer.archive(o)",
        "ocr.upload(c)",
        "offer.archive(c)",
        "offer.unarchive(c)",
        "ocr.cancel(job-c)",
        "offer.unarchive(o)",
    ]


@pytest.mark.parametrize("when", ["crash_before", "crash_after"])
@pytest.mark.parametrize("commit", range(9))
async def test_a_crash_anywhere_around_a_child_ends_the_same(when: str, commit: int):
    scene = Scene(parent_plan(), child_plan())
    scene.world.raising["document.extract"] = Refused()
    getattr(scene.journal, when).add(commit)
    try:
        await run(scene)
    except Crash:
        await scene.recover()
        await scene.recover()
    rows = {entry.row.flow_id: entry.row.state for entry in scene.journal._entries.values()}
    assert rows == {"document.process": State.FAILED, "child": State.COMPLETED}
    undone = [effect for effect in scene.world.effects if "unarchive" in effect or "cancel" in effect]
    assert list(dict.fromkeys(undone)) == ["offer.unarchive(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]
    assert len(scene.journal._entries) == 2


async def test_a_failing_child_unwinds_itself_then_its_parent():
    scene = Scene(parent_plan(), child_plan(upload(0), extract(1)))
    scene.world.raising["document.extract"] = Refused()
    outcome = await run(scene)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "ocr.refused"
    assert scene.world.effects == ["offer.archive(o)", "ocr.upload(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]
    assert (await scene.rows(outcome.instance_id))[1] == "|1|child|Failure"


async def test_an_inline_child_may_wait_and_its_end_wakes_the_parent():
    scene = Scene(parent_plan(), child_plan(upload(0), AwaitSignal(1, "signed", SIGNED, 7 * DAY)))
    outcome = await run(scene)
    assert isinstance(outcome, Suspended)
    assert outcome.awaiting == ()
    child = (await instances(scene))["child"]
    assert child.state is State.SUSPENDED
    # Looking at the parent again does not disturb the child.
    await scene.host.resume(outcome.instance_id)
    assert (await instances(scene))["child"] == child
    await scene.host.signal(child.instance_id, Signed(by="ada"))
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert (await scene.history(outcome.instance_id)).inbox == ()


async def test_a_parent_whose_child_ended_while_its_node_was_dead_is_woken_by_a_sweep():
    scene = Scene(parent_plan(), child_plan(upload(0), Delay(1, "rest", DAY / 2)))
    outcome = await run(scene)
    # The child's last commit goes through; the process dies before it can see to the parent.
    scene.journal.crash_after.add(len(scene.journal.commits))
    await scene.wake()
    assert (await instances(scene))["child"].state is State.COMPLETED
    assert await scene.state(outcome.instance_id) is State.SUSPENDED
    await scene.new_host().sweep_once()
    assert await scene.state(outcome.instance_id) is State.COMPLETED


async def test_a_detached_child_is_started_once_and_nobody_waits_for_it():
    scene = Scene(parent_plan(SubFlowMode.DETACHED), child_plan())
    outcome = await run(scene)
    assert isinstance(outcome, Completed)
    child = (await instances(scene))["child"]
    assert (child.state, child.parent_instance_id) == (State.PENDING, None)
    await scene.host.sweep_once()
    assert (await instances(scene))["child"].state is State.COMPLETED


async def test_ephemeral_flows_compose_in_memory_and_unwind_together():
    ephemeral = {"profile": Profile.EPHEMERAL}
    scene = Scene(parent_plan(**ephemeral), child_plan(**ephemeral))
    scene.world.raising["document.extract"] = Refused()
    assert isinstance(await run(scene), Failed)
    assert scene.world.effects[-3:] == ["offer.unarchive(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]
    assert scene.journal._entries == {}


async def test_a_child_has_no_longer_than_its_parent_and_a_detached_one_its_own_time():
    waits = child_plan(upload(0), AwaitSignal(1, "signed", SIGNED, 7 * DAY), deadline=3 * DAY)
    scene = Scene(parent_plan(deadline=DAY), waits)
    await run(scene)
    both = await instances(scene)
    assert both["child"].deadline_at == both["document.process"].deadline_at == scene.clock.now() + DAY
    detached = Scene(parent_plan(SubFlowMode.DETACHED, deadline=DAY), waits)
    await run(detached)
    assert (await instances(detached))["child"].deadline_at == detached.clock.now() + 3 * DAY


def around_a_child(**changes: Any) -> Plan[Any, Any]:
    return plan(
        archive(0),
        SubFlow(1, "child", "child", "1.0.0", lambda ctx: Submit(document_id="c")),
        AwaitSignal(2, "signed", SIGNED, 7 * DAY),
        **changes,
    )


UNDONE = ["offer.unarchive(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]


@pytest.mark.parametrize("ending", [State.CANCELLED, State.TIMED_OUT])
async def test_a_child_that_ended_without_its_parent_knowing_is_undone_with_it(ending: State):
    scene = Scene(around_a_child(deadline=DAY), child_plan())
    # The commits: the parent's first step, the child's first, the child's second with its end; then the parent's.
    scene.journal.crash_after.add(2)
    with pytest.raises(Crash):
        await run(scene)
    found = await instances(scene)
    assert found["child"].state is State.COMPLETED
    parent = found["document.process"].instance_id
    assert await scene.rows(parent) == ["|0|offer.archive|Success"]
    if ending is State.CANCELLED:
        scene.clock.advance(TTL)
        await scene.new_host().cancel(parent)
    else:
        scene.clock.advance(DAY)
        await scene.new_host().sweep_once()
    assert await scene.state(parent) is ending
    assert scene.world.effects[-3:] == UNDONE


async def test_a_parent_ends_after_the_child_that_somebody_else_works_on():
    scene = Scene(around_a_child(), child_plan(upload(0), AwaitSignal(1, "signed", SIGNED, DAY), archive(2)))
    outcome = await run(scene)
    child = (await instances(scene))["child"].instance_id
    asked = asyncio.Event()
    stops: list[State] = []

    async def cancels_the_parent(request: Submit, ctx: Any) -> Any:
        await scene.new_host().cancel(outcome.instance_id)
        stops.append(await scene.state(outcome.instance_id))
        asked.set()
        return Ticket(ticket="late")

    # Its last step is under way when its parent is cancelled: it completes, and is undone.
    busy = scene.new_host(substitutes={"offer.archive": cancels_the_parent})
    await busy.signal(child, Signed(by="ada"))
    assert asked.is_set()
    assert stops == [State.SUSPENDED]
    assert await scene.state(outcome.instance_id) is State.CANCELLED
    assert (await instances(scene))["child"].state in {State.COMPLETED, State.CANCELLED}
    assert scene.world.effects[-3:] == UNDONE


async def test_a_branch_that_fails_leaves_no_child_of_another_branch_waiting():
    forked = plan(
        Parallel(0, (1, 2), 4, Merge.ALL_MUST_SUCCEED),
        SubFlow(1, "child", "child", "1.0.0", lambda ctx: Submit(document_id="c")),
        Delay(2, "rest", DAY),
        Fail(3, NotInTime),
        archive(4),
    )
    scene = Scene(forked, child_plan(upload(0), AwaitSignal(1, "signed", SIGNED, 7 * DAY)))
    outcome = await run(scene)
    await scene.wake()
    await scene.host.sweep_once()
    found = await instances(scene)
    assert found["document.process"].state is State.FAILED
    assert (await scene.host.outcome(outcome.instance_id)).error.code == "document.not_read_in_time"
    assert found["child"].state is State.CANCELLED
    assert scene.world.effects == ["ocr.upload(c)", "ocr.cancel(job-c)"]


async def test_a_wait_that_ran_out_in_an_element_that_is_forgiven_is_not_opened_anew():
    lines = tuple(Submit(document_id=name) for name in "xy")
    tolerant = plan(
        ForEach(0, lambda ctx: lines, Submit, 2, 1, continue_on_error=True),
        AwaitSignal(1, "signed", SIGNED, DAY),
        archive(2),
    )
    scene = Scene(tolerant)
    started = scene.clock.now()
    await run(scene)
    assert await scene.to_the_end(passes=10) is State.COMPLETED
    assert scene.clock.now() - started == 2 * DAY
    assert await scene.rows() == ["0|1||Failure", "1|1||Failure", "|2|offer.archive|Success"]
