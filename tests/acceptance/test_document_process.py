"""`document.process` on PostgreSQL: what the example promises of its waits."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from polling.app import capabilities
from polling.contracts import OcrCompleted, SubmitDocument
from polling.ocr_provider import OcrProvider, ReviewQueue
from polling.plans import CATALOG

from flowx_runtime import Completed, Failed, Suspended
from tests.acceptance.conftest import Database, VirtualClock, cancel_this_run, run_that_is_cancelled
from tests.acceptance.small_flows import until

DOCUMENT = SubmitDocument(document_id="doc-1", content_type="application/pdf", pages=12)


class CountingProvider(OcrProvider):
    """Counts how often it is asked; may refuse to answer."""

    def __init__(self, seconds_per_page: float, clock: VirtualClock) -> None:
        super().__init__(seconds_per_page, clock.time)
        self.questions = 0
        self.is_down = False

    def state(self, job_id: str) -> str:
        self.questions += 1
        if self.is_down:
            raise ConnectionError("the status endpoint refused")
        return super().state(job_id)


@pytest.fixture
def provider(clock: VirtualClock) -> CountingProvider:
    return CountingProvider(60.0, clock)


async def wake(host: Any, database: Database, clock: VirtualClock, instance_id: Any) -> None:
    """Move the clock to the instant that the instance recorded, and sweep."""
    clock.move_to(database.wake(instance_id)[0])
    await host.sweep_once()


async def run_to_the_end(host: Any, database: Database, clock: VirtualClock, instance_id: Any) -> None:
    while database.state(instance_id) == "Suspended":
        await wake(host, database, clock, instance_id)


async def test_attempts_are_rows_whose_scope_is_the_attempt(
    open_host: Any, database: Database, clock: VirtualClock, provider: CountingProvider
) -> None:
    """Seed 000, attempt rows: an attempt is a row whose scope is its number; the poll itself has none."""
    async with open_host(CATALOG, capabilities(provider)) as host:
        outcome = await host.run("document.process", DOCUMENT)
        assert isinstance(outcome, Suspended)
        await run_to_the_end(host, database, clock, outcome.instance_id)
        attempts = provider.questions
        assert attempts > 1
        assert database.steps(outcome.instance_id) == [
            "|0|ocr.upload|Success",
            *(f"{attempt}|2|ocr.status|Success" for attempt in range(attempts)),
            "|5|document.extract|Success",
            "|6||Success".replace("||", "|document.processed|"),
        ]
        assert await host.outcome(outcome.instance_id) == Completed(
            instance_id=outcome.instance_id, value=(await host.outcome(outcome.instance_id)).value
        )


async def test_waiting_is_one_instance_row_no_lease_and_no_task(
    open_host: Any, database: Database, provider: CountingProvider
) -> None:
    """Seed 000: one row, no lease, a scope that says which attempt; one attempt per invocation."""
    async with open_host(CATALOG, capabilities(provider)) as host:
        tasks = asyncio.all_tasks()
        outcome = await host.run("document.process", DOCUMENT)
        assert isinstance(outcome, Suspended)
        assert outcome.awaiting == ("ocr.completed",)
        assert database.rows("select count(*) from flow_instance") == [(1,)]
        assert database.rows("select count(*) from flow_wait") == [(0,)]
        assert database.live_leases(outcome.instance_id) == 0
        # Other nodes are told when it wakes; after that nothing of it is left here.
        await until(lambda: _are_left(tasks))
        wake_at, step, scope = database.wake(outcome.instance_id)
        assert (step, scope) == (1, "0")
        assert wake_at is not None
        assert provider.questions == 1


async def _are_left(tasks: set[asyncio.Task[Any]]) -> bool:
    return asyncio.all_tasks() == tasks


async def test_a_resume_past_a_finished_poll_does_not_poll_again(
    open_host: Any, database: Database, clock: VirtualClock, provider: CountingProvider
) -> None:
    """Seed 000, what is read back: whether the loop is over is asked of the predicate before an attempt, too."""

    class StopsBeforeExtracting(CountingProvider):
        stop = True

        def fields(self, job_id: str) -> dict[str, str]:
            if self.stop:
                cancel_this_run()
            return super().fields(job_id)

    stopping = StopsBeforeExtracting(0.0, clock)
    async with open_host(CATALOG, capabilities(stopping)) as host:
        await run_that_is_cancelled(host, "document.process", DOCUMENT)
    (instance_id,) = database.rows("select instance_id from flow_instance")[0]
    assert database.steps(instance_id) == ["|0|ocr.upload|Success", "0|2|ocr.status|Success"]
    asked = stopping.questions
    stopping.stop = False
    async with open_host(CATALOG, capabilities(stopping)) as host:
        outcome = await host.resume(instance_id)
        assert isinstance(outcome, Completed)
    assert stopping.questions == asked


async def test_a_signal_between_two_attempts_ends_the_poll_with_one_row_and_no_attempt(
    open_host: Any, database: Database, provider: CountingProvider
) -> None:
    """Seed 000 §7, seed 003 decisions 1 and 3: a delivery ends the same wait on the same row."""
    async with open_host(CATALOG, capabilities(provider)) as host:
        outcome = await host.run("document.process", DOCUMENT)
        await host.signal(outcome.instance_id, OcrCompleted(job_id="doc-1"))
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
        assert provider.questions == 1
        assert database.steps(outcome.instance_id) == [
            "|0|ocr.upload|Success",
            "0|2|ocr.status|Success",
            "|1|ocr.completed|Success",
            "|5|document.extract|Success",
            "|6|document.processed|Success",
        ]
        assert database.wake(outcome.instance_id) == (None, None, None)


async def test_the_budget_runs_from_the_clock_that_attempt_zero_captured(
    open_host: Any, database: Database, clock: VirtualClock
) -> None:
    """Seed 000, what is read back: the budget runs by the clock that attempt 0 captured, not by the store's."""
    provider = CountingProvider(3600.0, clock)
    started = clock.now()
    async with open_host(CATALOG, capabilities(provider)) as host:
        outcome = await host.run("document.process", DOCUMENT)
        captured = database.rows(
            "select nondeterministic ->> 'utcNow' from flow_step where scope = '0' and instance_id = %s",
            outcome.instance_id,
        )[0][0]
        assert captured.startswith(started.isoformat()[:19])
        await run_to_the_end(host, database, clock, outcome.instance_id)
        assert isinstance(await host.outcome(outcome.instance_id), Failed)
    # Four hours after attempt 0's own clock, not after anything the database stamped (which is years off here).
    assert clock.now() == started + timedelta(hours=4)


async def test_a_failing_attempt_fails_the_flow_and_cancels_the_job(
    open_host: Any, database: Database, clock: VirtualClock, provider: CountingProvider
) -> None:
    """Seed 000: a failing attempt is no "not yet"."""
    async with open_host(CATALOG, capabilities(provider)) as host:
        outcome = await host.run("document.process", DOCUMENT)
        provider.is_down = True
        await wake(host, database, clock, outcome.instance_id)
        failed = await host.outcome(outcome.instance_id)
        assert isinstance(failed, Failed)
        assert failed.error.code == "capability.unhandled"
        assert database.steps(outcome.instance_id) == [
            "|0|ocr.upload|Success",
            "0|2|ocr.status|Success",
            "1|2|ocr.status|Failure",
            "|0|ocr.cancel|Compensated",
        ]
    assert len(provider.cancelled) == 1


async def test_a_budget_that_runs_out_escalates_fails_and_cancels_the_job(
    open_host: Any, database: Database, clock: VirtualClock
) -> None:
    """Seed 000 §3: escalated, failed, and the job closed by an unwind that spans the whole wait."""
    provider, queue = CountingProvider(3600.0, clock), ReviewQueue()
    async with open_host(CATALOG, capabilities(provider, queue)) as host:
        outcome = await host.run("document.process", DOCUMENT)
        await run_to_the_end(host, database, clock, outcome.instance_id)
        failed = await host.outcome(outcome.instance_id)
        assert isinstance(failed, Failed)
        assert failed.error.code == "document.not_read_in_time"
        assert database.steps(outcome.instance_id)[-3:] == [
            "|3|document.escalate|Success",
            "|4||Failure",
            "|0|ocr.cancel|Compensated",
        ]
    assert queue.tickets == ["review-doc-1"]
    assert len(provider.cancelled) == 1
