"""Time that jumps: nothing waits for real, nothing hangs, nothing is lost on the way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from polling.app import capabilities
from polling.contracts import OcrStatus, SubmitDocument
from polling.plans import document_process_v1_0_0 as document_process

from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.testing import NeverFinishes, TestSetupError, after, fails, flow_host, sequence
from tests.testing.flows import (
    ALONE,
    ASKING,
    CHILD,
    HEDGED,
    HOUR,
    IN_A_THREAD,
    IN_MEMORY,
    LEFT_ALONE,
    NIGHTLY,
    ONCE,
    ORDER,
    PARENT,
    RETRIED,
    SLOW,
    TWO_WAITS,
    Approved,
    Late,
    Order,
    Paid,
    Receipt,
    Seen,
)

RECEIPT = Receipt(text="r")


async def test_fifty_questions_in_four_hours_are_asked_each_at_its_own_instant() -> None:
    async with (
        flow_host(ASKING).substitute("test.look", sequence(*(Seen(times=n) for n in range(1, 51)))).build() as host
    ):
        begun = host.now
        run = await host.start(ORDER)
        await host.advance_until_done()
        assert run.completed_with()
        assert [call.at - begun for call in host.calls] == [timedelta(minutes=5 * n) for n in range(50)]
        assert host.now - begun == timedelta(hours=4, minutes=5)


async def test_advance_stops_exactly_where_it_was_told_and_does_what_falls_due_on_the_way() -> None:
    async with flow_host(ASKING).substitute("test.look", Seen(times=1)).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        await host.advance("PT12M")
        assert host.now - begun == timedelta(minutes=12)
        assert len(run.trace.executed) == 3
        await host.advance("PT3M")
        assert len(run.trace.executed) == 4


async def test_a_run_until_a_step_goes_no_further() -> None:
    async with flow_host(SLOW).build() as host:
        run = await host.start(ORDER)
        await host.run_until("test.look")
        assert run.completed_with()
        with pytest.raises(
            TestSetupError, match=r"no flow of this host has a step 'test.lok'; there are rest, test.charge"
        ):
            await host.run_until("test.lok")


async def test_p50_a_step_that_times_out_neither_hangs_nor_waits_for_real_nor_loses_time() -> None:
    answers = sequence(after("PT1H", RECEIPT), after("PT3S", RECEIPT), after("PT1S", RECEIPT))
    async with flow_host(RETRIED).substitute("test.charge", answers).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        assert run.suspended
        assert host.now - begun == timedelta(seconds=2)
        await host.advance_until_done()
        assert run.completed_with()
        assert [row.outcome for row in run.trace.rows] == ["Failure", "Failure", "Success", "Success"]
        # Two timeouts of two seconds, two gaps of ten, one second to answer: and not the hour that was cut off.
        assert host.now - begun == timedelta(seconds=2 + 10 + 2 + 10 + 1)


async def test_a_hedge_asks_again_in_virtual_time_and_the_hour_of_the_first_call_is_not_waited_for() -> None:
    answers = sequence(after("PT1H", Receipt(text="late")), after("PT1S", Receipt(text="soon")))
    async with flow_host(HEDGED).substitute("test.charge", answers).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        assert run.completed_with()
        assert host.now - begun == timedelta(seconds=6)
        assert [call.answer for call in host.calls[:2]] == [None, Receipt(text="soon")]


async def test_p50_a_cancelled_run_ends_at_once_and_its_wait_is_not_jumped_to() -> None:
    async with flow_host(SLOW).substitute("test.look", Seen(times=1), optional=True).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        await run.cancel("not wanted")
        assert run.cancelled
        assert run.trace.compensated == ["test.refund"]
        await host.advance_until_done()
        assert host.now == begun


async def test_p50_a_signal_during_a_slow_step_is_kept_for_its_wait() -> None:
    async with flow_host(CHILD).substitute("test.charge", after("PT20M", RECEIPT)).build() as host:
        host.signal_at("PT10M", Approved(by="ada"))
        begun = host.now
        run = await host.start(ORDER)
        assert run.completed_with()
        assert host.now - begun == timedelta(minutes=20)


async def test_p50_a_wait_of_seven_days_takes_none() -> None:
    async with flow_host(PARENT, CHILD).build() as host:
        run = await host.start(ORDER)
        assert run.suspended
        await host.advance("PT59M")
        assert run.suspended
        await host.advance("P7D")
        assert run.failed_with("flow.signal_not_received")


async def test_what_never_ends_says_what_waits_for_what() -> None:
    async with flow_host(SLOW).substitute("test.look", Seen(times=1), optional=True).build() as host:
        await host.start(ORDER)
        with pytest.raises(
            NeverFinishes, match=r"Nothing ended within 0:30:00.\n  test.flow is Suspended\n    it waits"
        ):
            await host.advance_until_done(limit="PT30M")


async def test_what_waits_for_a_signal_only_says_how_to_send_it() -> None:
    async with flow_host(CHILD).build() as host:
        await host.start(ORDER)
        with pytest.raises(NeverFinishes, match=r"(?s)signal 'test.approved'.*goes on with `await run.signal"):
            await host.advance_until_done(limit="PT30M")


async def test_a_capability_that_never_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from flowx_runtime.testing import driver

    monkeypatch.setattr(driver, "PATIENCE", 0.05)
    monkeypatch.setattr(driver, "COURTESY", 0.02)

    async def forgets(request: Order) -> Receipt:
        await asyncio.get_running_loop().create_future()
        return RECEIPT

    async with flow_host(SLOW).substitute("test.charge", forgets).build() as host:
        with pytest.raises(NeverFinishes, match=r"(?s)Nothing answered for .*test.charge has not answered since"):
            await host.start(ORDER)


async def test_runs_that_are_started_together_share_the_clock() -> None:
    async with flow_host(SLOW).substitute("test.charge", after("PT1M", RECEIPT)).build() as host:
        begun = host.now
        runs = await asyncio.gather(*(host.start(ORDER) for _ in range(5)))
        assert host.now - begun == timedelta(minutes=1)
        await host.advance_until_done()
        assert all(run.completed_with() for run in runs)
        assert len({run.instance_id for run in runs}) == 5
        assert host.now - begun == timedelta(minutes=61)


async def test_a_capability_that_would_drive_its_own_host_is_told_what_to_do() -> None:
    async def signals_itself(request: Order) -> Receipt:
        await host.advance("PT1M")
        return RECEIPT

    async with flow_host(SLOW).substitute("test.charge", signals_itself).build() as host:
        with pytest.raises(TestSetupError, match="a capability cannot drive the host that called it"):
            await host.start(ORDER)


async def test_signals_come_at_their_instants() -> None:
    async with flow_host(TWO_WAITS).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        host.signal_at("PT20M", Paid(amount=3))
        host.signal_at(begun + HOUR / 6, Approved(by="ada"))
        await host.advance_until_done()
        assert run.completed_with()
        assert [(call.name, call.at - begun) for call in host.calls] == [
            ("once approved", timedelta(minutes=10)),
            ("once paid", timedelta(minutes=20)),
            ("test.look", timedelta(minutes=20)),
        ]


async def test_a_step_in_a_thread_and_a_flow_without_a_journal_run_as_well() -> None:
    async with flow_host(IN_A_THREAD).build() as host:
        run = await host.start(ORDER)
        assert run.trace.executed == ["test.blocking", "test.look"]
    async with flow_host(IN_MEMORY).substitute("test.look", fails(Late)).build() as host:
        run = await host.start(ORDER)
        assert run.failed_with("test.late")
        assert run.trace.compensated == ["test.refund"]


async def test_a_flow_that_nobody_waits_for_runs_without_the_clock_being_moved() -> None:
    async with flow_host(LEFT_ALONE, ALONE).build() as host:
        begun = host.now
        await host.start(ORDER)
        (alone,) = host.started_by_themselves
        assert alone.completed_with()
        assert host.now == begun
        assert (await host.newest("test.alone")).trace == alone.trace


async def test_a_schedule_fires_under_the_same_clock() -> None:
    async with flow_host(NIGHTLY).build() as host:
        await host.advance("P3D")
        # 09:00 in London at first; three in the morning in Vienna is two o'clock UTC in winter.
        assert [call.at for call in host.calls] == [datetime(2030, 1, day, 2, tzinfo=UTC) for day in (2, 3, 4)]


async def test_what_runs_at_most_once_is_in_the_trace_by_its_path() -> None:
    async with flow_host(ONCE).build() as host:
        run = await host.start(ORDER)
        await host.advance_until_done()
        assert run.trace.once == ("test.flow/test.charge_once/charge-card",)


async def test_events_are_published_as_they_are_staged() -> None:
    published: list[str] = []

    class Kept:
        async def publish(self, envelope: Envelope) -> None:
            published.append(envelope.type)

    document = SubmitDocument(document_id="d", content_type="t", pages=1)
    builder = flow_host(document_process.PLAN).with_capabilities(capabilities).with_publisher(Kept())
    async with builder.substitute("ocr.status", OcrStatus(job_id="j", state="completed")).build() as host:
        run = await host.start(document)
        await host.advance("PT1S")
        assert run.completed_with()
        assert published == ["document.processed"]


async def test_ids_and_random_values_are_the_same_in_every_test() -> None:
    texts = []
    for _ in range(2):
        async with flow_host(SLOW).build() as host:
            await host.start(ORDER)
            texts.append(host.calls[0].answer.text)
            await host.advance_until_done()
    assert texts[0] == texts[1]
    async with flow_host(SLOW).with_jitter(1).build() as host:
        await host.start(ORDER)
        assert host.calls[0].answer.text != texts[0]
        await host.advance_until_done()
