"""A poll: attempts, endings, order, budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from engine_plans import (
    BUDGET,
    INTERVAL,
    OCR_SIGNAL,
    STATUS,
    OcrCompleted,
    Result,
    Status,
    Submit,
    document_plan,
    extract,
    plain_poll_plan,
    plan,
    upload,
)
from engine_scene import Crash, Scene

from flowx_runtime import Completed, Failed, Suspended
from flowx_runtime.host.outcome import Compensation
from flowx_runtime.journal.records import Delivery, State
from flowx_runtime.plan import AwaitSignal, Poll, Step

DOCUMENT = Submit(document_id="d")


async def test_every_attempt_is_a_row_under_its_own_scope():
    scene = Scene(document_plan())
    outcome = await scene.host.run("document.process", DOCUMENT)
    assert isinstance(outcome, Suspended)
    assert await scene.to_the_end() is State.COMPLETED
    assert await scene.rows() == [
        "|0|ocr.upload|Success",
        "0|2|ocr.status|Success",
        "1|2|ocr.status|Success",
        "2|2|ocr.status|Success",
        "|5|document.extract|Success",
        "|6|document.processed|Success",
    ]
    assert await scene.host.outcome(outcome.instance_id) == Completed(
        Result(document_id="d", fields=7), outcome.instance_id
    )


async def test_there_is_one_attempt_per_invocation_and_nothing_is_held_between():
    scene = Scene(document_plan())
    outcome = await scene.host.run("document.process", DOCUMENT)
    assert isinstance(outcome, Suspended)
    assert outcome.awaiting == ("ocr.completed",)
    assert scene.world.asked == 1
    assert await scene.journal.live_leases(outcome.instance_id) == 0
    (wait,) = (await scene.history()).instance.waits
    assert (wait.step_id, wait.scope) == (1, "0")


async def test_the_attempt_and_the_park_are_one_commit():
    scene = Scene(document_plan())
    await scene.host.run("document.process", DOCUMENT)
    upload, attempt = scene.journal.commits
    assert [row.capability_id for row in upload.rows] == ["ocr.upload"]
    assert [row.capability_id for row in attempt.rows] == ["ocr.status"]
    assert attempt.state is State.SUSPENDED
    assert attempt.release_lease


async def test_the_wake_is_drawn_once_and_kept_over_an_early_resume():
    scene = Scene(document_plan())
    outcome = await scene.host.run("document.process", DOCUMENT)
    before = (await scene.history()).instance.waits
    assert isinstance(await scene.new_host().resume(outcome.instance_id), Suspended)
    assert (await scene.history()).instance.waits == before
    assert scene.world.asked == 1


async def test_a_poll_that_is_satisfied_at_once_never_parks():
    scene = Scene(document_plan())
    scene.world.ready_after = 1
    assert isinstance(await scene.host.run("document.process", DOCUMENT), Completed)


async def test_a_resume_past_a_finished_poll_does_not_poll_again():
    scene = Scene(document_plan())
    scene.world.ready_after = 1
    # The commits: upload, attempt, then extract+emit+end.
    scene.journal.crash_before.add(2)
    with pytest.raises(Crash, match="before commit 2"):
        await scene.host.run("document.process", DOCUMENT)
    await scene.recover()
    assert await scene.state() is State.COMPLETED
    assert scene.world.asked == 1


async def test_a_signal_ends_it_with_exactly_one_row_and_no_attempt():
    scene = Scene(document_plan())
    outcome = await scene.host.run("document.process", DOCUMENT)
    await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    assert await scene.rows() == [
        "|0|ocr.upload|Success",
        "0|2|ocr.status|Success",
        "|1|ocr.completed|Success",
        "|5|document.extract|Success",
        "|6|document.processed|Success",
    ]
    assert scene.world.asked == 1


async def test_a_signal_before_the_poll_leaves_it_without_any_attempt():
    scene = Scene(document_plan())

    def deliver_while_uploading():
        entry = scene.journal._entries[scene.only()]
        scene.journal._accept(entry, Delivery("early", "ocr.completed", '{"job_id":"x"}'))

    scene.world.hooks["ocr.upload"] = deliver_while_uploading
    outcome = await scene.host.run("document.process", DOCUMENT)
    # It was not known when the walk read the history: the park is refused and the walk goes on with it.
    assert isinstance(outcome, Completed)
    assert "|1|ocr.completed|Success" in await scene.rows()
    assert (await scene.history()).inbox == ()


async def test_a_delivery_ends_the_poll_before_its_next_attempt_is_made():
    scene = Scene(document_plan())
    outcome = await scene.host.run("document.process", DOCUMENT)
    await scene.journal.deliver(outcome.instance_id, Delivery("d", "ocr.completed", '{"job_id":"x"}'))
    scene.clock.move_to(await scene.journal.next_wake())
    await scene.host.sweep_once()
    assert await scene.state() is State.COMPLETED
    assert scene.world.asked == 1


async def test_a_signal_after_the_budget_ends_it_as_long_as_no_sweep_has_escalated():
    scene = Scene(document_plan(deadline=timedelta(days=1)))
    outcome = await scene.host.run("document.process", DOCUMENT)
    scene.clock.advance(BUDGET)
    await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    assert await scene.state() is State.COMPLETED
    assert scene.world.asked == 1


async def test_a_signal_after_the_flows_deadline_ends_nothing():
    scene = Scene(document_plan(deadline=timedelta(minutes=1)))
    outcome = await scene.host.run("document.process", DOCUMENT)
    scene.clock.advance(timedelta(minutes=1))
    await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    assert await scene.state() is State.TIMED_OUT


async def test_a_satisfied_predicate_leaves_the_signal_for_a_later_wait():
    then_await = plan(
        upload(),
        Poll(1, lambda ctx: ctx.get(Status).state == "completed", INTERVAL, BUDGET, None, OCR_SIGNAL),
        Step(2, "ocr.status", STATUS),
        AwaitSignal(3, "again", OCR_SIGNAL, timedelta(days=1)),
        extract(4),
    )
    scene = Scene(then_await)
    scene.world.ready_after = 1
    outcome = await scene.host.run("document.process", DOCUMENT)
    await scene.host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    assert (await scene.rows())[1:] == [
        "0|2|ocr.status|Success",
        "|3|ocr.completed|Success",
        "|4|document.extract|Success",
    ]


async def test_the_budget_runs_from_the_clock_attempt_zero_captured():
    scene = Scene(document_plan())
    scene.world.ready_after = 10**9
    started = scene.clock.now()
    await scene.host.run("document.process", DOCUMENT)
    assert await scene.to_the_end(passes=10_000) is State.FAILED
    assert scene.clock.now() == started + timedelta(hours=4)


async def test_a_spent_budget_escalates_fails_and_undoes_the_upload():
    scene = Scene(document_plan())
    scene.world.ready_after = 10**9
    outcome = await scene.host.run("document.process", DOCUMENT)
    scene.clock.advance(timedelta(hours=4))
    await scene.host.sweep_once()
    assert (await scene.rows())[-3:] == [
        "|3|document.escalate|Success",
        "|4||Failure",
        "|0|ocr.cancel|Compensated",
    ]
    failed = await scene.host.outcome(outcome.instance_id)
    assert isinstance(failed, Failed)
    assert (failed.error.code, failed.compensation) == ("document.not_read_in_time", Compensation.COMPLETED)


async def test_without_a_timeout_block_the_poll_fails_the_flow():
    scene = Scene(plain_poll_plan())
    scene.world.ready_after = 10**9
    outcome = await scene.host.run("document.process", DOCUMENT)
    scene.clock.advance(timedelta(hours=4))
    await scene.host.sweep_once()
    failed = await scene.host.outcome(outcome.instance_id)
    assert isinstance(failed, Failed)
    assert failed.error.code == "flow.poll_not_satisfied"
    assert scene.world.effects[-1] == "ocr.cancel(job-d)"


async def test_a_failing_attempt_fails_the_flow():
    scene = Scene(document_plan())
    await scene.host.run("document.process", DOCUMENT)
    scene.world.raising["ocr.status"] = ConnectionError("refused")
    await scene.wake()
    assert (await scene.rows())[-2:] == ["1|2|ocr.status|Failure", "|0|ocr.cancel|Compensated"]
    assert (await scene.history()).instance.error.code == "capability.unhandled"


async def test_the_flows_deadline_comes_before_everything_else_of_a_poll():
    scene = Scene(document_plan(deadline=timedelta(minutes=1)))
    outcome = await scene.host.run("document.process", DOCUMENT)
    scene.clock.advance(timedelta(minutes=1))
    await scene.host.sweep_once()
    assert await scene.state() is State.TIMED_OUT
    failed = await scene.host.outcome(outcome.instance_id)
    assert isinstance(failed, Failed)
    assert failed.error.code == "flow.deadline_exceeded"
    assert scene.world.asked == 1


async def test_attempts_share_their_idempotency_key_and_number_themselves_by_scope():
    scene = Scene(document_plan())
    await scene.host.run("document.process", DOCUMENT)
    await scene.to_the_end()
    polls = [ctx for ctx in scene.world.contexts if ctx.capability_id == "ocr.status"]
    assert [ctx.scope for ctx in polls] == ["0", "1", "2"]
    assert len({ctx.idempotency_key for ctx in polls}) == 1


async def test_a_schedule_with_a_number_of_attempts_ends_with_them():
    limited = replace(document_plan().nodes[1], interval=INTERVAL.max_attempts(2))
    first, _, *rest = document_plan().nodes
    scene = Scene(plan(first, limited, *rest))
    scene.world.ready_after = 10**9
    await scene.host.run("document.process", DOCUMENT)
    assert await scene.to_the_end() is State.FAILED
    assert scene.world.asked == 2
    assert "|3|document.escalate|Success" in await scene.rows()
