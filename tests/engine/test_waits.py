"""Waiting for a signal and for the clock."""

from __future__ import annotations

from datetime import timedelta

import pytest
from engine_plans import (
    ESCALATE,
    EXTRACT,
    OCR_SIGNAL,
    SIGNED,
    OcrCompleted,
    Signed,
    Status,
    Submit,
    Ticket,
    extract,
    plan,
    saga_plan,
    upload,
)
from engine_scene import Crash, Scene

from flowx_runtime import Completed, Failed, Suspended
from flowx_runtime.host.errors import InstanceTerminal, NotASignal, UnknownInstance
from flowx_runtime.journal.records import Delivery, State
from flowx_runtime.plan import AwaitSignal, Branch, Delay, Step

OFFER = Submit(document_id="o")
WEEK, DAY = timedelta(days=7), timedelta(days=1)


async def parked(scene: Scene):
    outcome = await scene.host.run("document.process", OFFER)
    assert isinstance(outcome, Suspended)
    return outcome.instance_id


async def test_the_delivered_signal_is_the_waits_own_row():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    await scene.host.signal(instance_id, Signed(by="ada"))
    await scene.wake()
    assert await scene.rows() == [
        "|0|ocr.upload|Success",
        "|1|offer.signed|Success",
        "|4|offer.archive|Success",
        "|5|flow.delay|Success",
        "|6|document.extract|Success",
        "|7|offer.note|Success",
    ]
    outcome = await scene.host.outcome(instance_id)
    assert isinstance(outcome, Completed)
    assert outcome.value.ticket.startswith("ada/")
    assert (await scene.history()).inbox == ()


async def test_only_the_waits_that_are_open_now_are_named():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    assert (await scene.host.outcome(instance_id)).awaiting == ("offer.signed",)
    await scene.host.signal(instance_id, Signed(by="ada"))
    assert (await scene.host.outcome(instance_id)).awaiting == ()


async def test_parking_is_one_write_that_gives_the_lease_up():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    (only,) = scene.journal.commits
    assert [row.capability_id for row in only.rows] == ["ocr.upload"]
    assert (only.state, only.release_lease) == (State.SUSPENDED, True)
    assert only.waits[0].wake_at == scene.clock.now() + WEEK
    assert await scene.journal.live_leases(instance_id) == 0


async def test_a_signal_that_comes_before_its_wait_opens_is_kept_for_it():
    scene = Scene(saga_plan())
    scene.world.hooks["ocr.upload"] = lambda: scene.journal._accept(
        scene.journal._entries[scene.only()], Delivery("early", "offer.signed", '{"by":"eve"}')
    )
    outcome = await scene.host.run("document.process", OFFER)
    assert isinstance(outcome, Suspended)
    assert "|1|offer.signed|Success" in await scene.rows()
    # The park that was refused had the upload's row with it; the row was kept and the upload not made again.
    assert scene.world.effects == ["ocr.upload(o)", "offer.archive(o)"]


async def test_the_same_delivery_twice_is_one_delivery():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    await scene.host.signal(instance_id, Signed(by="ada"), delivery_id="d-1")
    await scene.host.signal(instance_id, Signed(by="ada"), delivery_id="d-1")
    assert (await scene.history()).inbox == ()


async def test_a_signal_nobody_waits_for_yet_changes_nothing_but_the_inbox():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    commits = len(scene.journal.commits)
    await scene.host.signal(instance_id, OcrCompleted(job_id="x"))
    assert len(scene.journal.commits) == commits
    assert len((await scene.history()).inbox) == 1
    assert await scene.journal.live_leases(instance_id) == 0


async def test_a_timeout_runs_its_block_and_unwinds():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    await scene.host.sweep_once()
    assert (await scene.rows())[1:] == [
        "|2|document.escalate|Success",
        "|3||Failure",
        "|0|ocr.cancel|Compensated",
    ]
    outcome = await scene.host.outcome(instance_id)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "document.not_read_in_time"


@pytest.mark.parametrize("has_block", [True, False])
@pytest.mark.parametrize("sender_dies", [True, False], ids=["met by the sweep", "met by its sender"])
async def test_a_signal_after_the_due_instant_wins_as_long_as_no_sweep_has_written_the_timeout(has_block, sender_dies):
    scene = Scene(saga_plan(has_block=has_block))
    instance_id = await parked(scene)
    scene.clock.advance(2 * WEEK)
    if sender_dies:
        await scene.journal.deliver(instance_id, Delivery("late", "offer.signed", '{"by":"ada"}'))
    else:
        await scene.host.signal(instance_id, Signed(by="ada"))
    await scene.host.sweep_once()
    assert (await scene.rows())[1] == "|1|offer.signed|Success"
    assert "document.escalate" not in "".join(await scene.rows())


async def test_a_signal_that_comes_while_the_timeout_is_gone_on_with_is_left_for_a_later_wait():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    late = Delivery("late", "offer.signed", '{"by":"ada"}')
    scene.world.hooks["document.escalate"] = lambda: scene.journal._accept(scene.journal._entries[instance_id], late)
    await scene.host.sweep_once()
    assert await scene.state() is State.FAILED
    assert [delivery.delivery_id for delivery in (await scene.history()).inbox] == ["late"]


async def test_without_a_block_a_timeout_fails_the_flow():
    scene = Scene(saga_plan(has_block=False))
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    await scene.host.sweep_once()
    outcome = await scene.host.outcome(instance_id)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.signal_not_received"
    assert scene.world.effects[-1] == "ocr.cancel(job-o)"


async def test_an_early_sweep_touches_nothing():
    scene = Scene(saga_plan())
    await parked(scene)
    before = await scene.history()
    scene.clock.advance(WEEK - timedelta(seconds=1))
    assert await scene.new_host().sweep_once() == 0
    assert await scene.history() == before


async def test_an_escalation_that_has_begun_is_not_taken_back_by_a_late_signal():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    # The escalation's own row is committed, then the process dies; then the signal comes.
    scene.journal.crash_after.add(1)
    scene.world.hooks["document.escalate"] = lambda: None
    await scene.host.sweep_once()
    await scene.journal.deliver(instance_id, Delivery("late", "offer.signed", '{"by":"ada"}'))
    await scene.recover()
    assert "|1|offer.signed|Success" not in await scene.rows()
    assert await scene.state() is State.FAILED


async def test_a_wait_inside_a_timeout_block_is_evidence_of_the_timeout():
    nested = plan(
        AwaitSignal(0, "offer.signed", SIGNED, WEEK, 2),
        AwaitSignal(1, "ocr.completed", OCR_SIGNAL, WEEK),
        Delay(2, "settling", DAY),
    )
    scene = Scene(nested)
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    await scene.host.sweep_once()
    assert (await scene.host.outcome(instance_id)).awaiting == ("ocr.completed",)
    # The outer signal is too late now, on any resume.
    await scene.journal.deliver(instance_id, Delivery("late", "offer.signed", '{"by":"ada"}'))
    await scene.new_host().resume(instance_id)
    assert (await scene.host.outcome(instance_id)).awaiting == ("ocr.completed",)
    await scene.host.signal(instance_id, OcrCompleted(job_id="x"))
    assert await scene.rows() == ["|1|ocr.completed|Success"]
    assert await scene.to_the_end() is State.COMPLETED


async def test_a_timeout_block_that_leaves_no_row_is_remembered_all_the_same():
    empty = plan(
        upload(),
        AwaitSignal(1, "offer.signed", SIGNED, WEEK, 4),
        Branch(2, lambda ctx: ctx.find(Ticket) is not None, 4),
        Step(3, "document.escalate", ESCALATE),
        Delay(4, "settling", DAY),
        extract(5),
    )
    scene = Scene(empty)
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    await scene.host.sweep_once()
    assert (await scene.rows())[-1] == "|1|flow.timed_out|Success"
    await scene.journal.deliver(instance_id, Delivery("late", "offer.signed", '{"by":"ada"}'))
    assert await scene.to_the_end() is State.COMPLETED
    assert "|1|offer.signed|Success" not in await scene.rows()


async def test_a_late_first_wait_does_not_shorten_the_second():
    two = plan(Delay(0, "first", DAY), Delay(1, "second", DAY), Step(2, "x", EXTRACT, request=_job))
    scene = Scene(two)
    await parked(scene)
    scene.clock.advance(5 * DAY)
    await scene.host.sweep_once()
    assert (await scene.history()).instance.waits[0].wake_at == scene.clock.now() + DAY


def _job(_):
    from engine_plans import Job

    return Job(job_id="j")


async def test_a_parked_instance_is_woken_by_its_deadline_and_times_out():
    scene = Scene(saga_plan(deadline=DAY))
    await parked(scene)
    assert (await scene.history()).instance.waits[0].wake_at == scene.clock.now() + DAY
    await scene.wake()
    assert await scene.state() is State.TIMED_OUT
    assert scene.world.effects == ["ocr.upload(o)", "ocr.cancel(job-o)"]


async def test_a_signal_is_refused_by_an_unknown_and_by_an_ended_instance():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    scene.clock.advance(WEEK)
    await scene.host.sweep_once()
    with pytest.raises(InstanceTerminal) as ended:
        await scene.host.signal(instance_id, Signed(by="ada"))
    assert ended.value.code == "flow.instance_terminal"
    with pytest.raises(UnknownInstance):
        await scene.host.signal(type(instance_id)(int=1), Signed(by="ada"))
    with pytest.raises(NotASignal):
        await scene.host.signal(instance_id, Status(state="x", asked=1))


async def test_a_signal_that_does_not_fit_its_contract_fails_the_flow_and_unwinds():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    await scene.journal.deliver(instance_id, Delivery("d", "offer.signed", '{"wrong":1}'))
    await scene.host.sweep_once()
    outcome = await scene.host.outcome(instance_id)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.signal_invalid"
    assert scene.world.effects[-1] == "ocr.cancel(job-o)"


async def test_a_store_that_fails_while_parking_leaves_the_instance_to_recovery():
    scene = Scene(saga_plan())
    scene.journal.crash_before.add(0)
    with pytest.raises(Crash):
        await scene.host.run("document.process", OFFER)
    await scene.recover()
    assert await scene.state() is State.SUSPENDED
    # The upload's row was not durable, so it was made again, under the same key.
    keys = [ctx.idempotency_key for ctx in scene.world.contexts]
    assert scene.world.effects == ["ocr.upload(o)", "ocr.upload(o)"]
    assert len(set(keys)) == 1


async def test_leaving_a_wait_is_written_once_with_the_first_row_after_it():
    scene = Scene(saga_plan())
    instance_id = await parked(scene)
    await scene.host.signal(instance_id, Signed(by="ada"))
    states = [commit.state for commit in scene.journal.commits]
    assert states == [State.SUSPENDED, State.RUNNING, State.SUSPENDED]
    await scene.wake()
    assert [commit.state for commit in scene.journal.commits[3:]] == [State.RUNNING, None, State.COMPLETED]
