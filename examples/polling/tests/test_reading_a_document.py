"""`document.process` without a provider and without waiting: hours pass when a test says so."""

from __future__ import annotations

from hypothesis import given, settings
from polling.app import capabilities
from polling.contracts import OcrCompleted, OcrStatus, SubmitDocument
from polling.ocr_provider import OcrProvider
from polling.plans import document_process_v1_0_0 as document_process

from flowx_runtime.testing import (
    Boundary,
    FlowTestHost,
    TestHostBuilder,
    VirtualClock,
    crash_everywhere,
    fails,
    flow_host,
    flow_inputs,
    interleave,
    sequence,
)

DOCUMENT = SubmitDocument(document_id="doc-1", content_type="application/pdf", pages=12)
PENDING = OcrStatus(job_id="job-1", state="reading")
READ = OcrStatus(job_id="job-1", state="completed")


def at_the_provider(*, seconds_per_page: float) -> TestHostBuilder:
    """The whole application, with the stand-in for its provider on the test's clock."""

    def made(clock: VirtualClock) -> list[object]:
        return capabilities(OcrProvider(seconds_per_page, clock.time))

    return flow_host(document_process.PLAN).with_capabilities(made)


async def read(host: FlowTestHost) -> None:
    run = await host.start(DOCUMENT)
    await host.advance_until_done()
    assert run.completed_with(document_id="doc-1", fields=3)


async def run_out(host: FlowTestHost) -> None:
    run = await host.start(DOCUMENT)
    await host.advance_until_done()
    assert run.failed_with("document.not_read_in_time")


async def be_notified(host: FlowTestHost) -> None:
    run = await host.start(DOCUMENT)
    host.signal_at("PT10M", OcrCompleted(job_id="job-1"))
    await host.advance_until_done()
    assert run.trace.signals == ["ocr.completed"]


async def test_a_document_is_read_after_some_questions() -> None:
    host = flow_host(document_process.PLAN).substitute("ocr.status", sequence(PENDING, PENDING, READ)).build()
    run = await host.start(DOCUMENT)
    assert run.suspended
    assert run.awaiting == ("ocr.completed",)
    await host.advance_until_done()
    assert run.completed_with(document_id="doc-1", fields=3)
    assert run.trace.executed == ["ocr.upload", *["ocr.status"] * 3, "document.extract"]
    assert [event.type for event in run.trace.events] == ["document.processed"]


async def test_budget_runs_out() -> None:
    host = flow_host(document_process.PLAN).substitute("ocr.status", sequence(PENDING, repeat=True)).build()
    run = await host.start(DOCUMENT)
    assert run.suspended
    assert not host.leases_held
    await host.advance_until_done()
    assert run.failed_with("document.not_read_in_time")
    assert run.trace.compensated == ["ocr.cancel"]
    assert "document.escalate" in run.trace.executed


async def test_a_notification_ends_the_questions() -> None:
    host = flow_host(document_process.PLAN).substitute("ocr.status", PENDING).build()
    run = await host.start(DOCUMENT)
    await host.advance("PT10M")
    asked = len(host.calls)
    await run.signal(OcrCompleted(job_id="job-1"))
    assert run.completed_with(fields=3)
    assert [call.capability_id for call in host.calls[asked:]] == ["document.extract"]


async def test_a_provider_that_fails_fails_the_flow_and_its_job_is_closed() -> None:
    down = fails(ConnectionError("the status endpoint refused"))
    host = flow_host(document_process.PLAN).substitute("ocr.status", sequence(PENDING, down)).build()
    run = await host.start(DOCUMENT)
    await host.advance_until_done()
    assert run.failed_with("capability.unhandled")
    assert run.trace.compensated == ["ocr.cancel"]


async def test_a_killed_host_changes_nothing() -> None:
    for scenario, seconds in ((read, 10.0), (be_notified, 10_000.0)):
        crashes = await crash_everywhere(at_the_provider(seconds_per_page=seconds), scenario)
        assert len(crashes.passes) == 2 * crashes.boundaries


async def test_nor_does_one_that_is_killed_around_the_end_of_the_budget() -> None:
    def is_around_the_end(write: Boundary) -> bool:
        return write.number % 25 == 0 or "ocr.status" not in write.steps  # one of a hundred questions is like another

    await crash_everywhere(at_the_provider(seconds_per_page=10_000.0), run_out, where=is_around_the_end)


async def test_neither_does_the_order_of_a_notification_and_a_question() -> None:
    await interleave(at_the_provider(seconds_per_page=10_000.0), be_notified)


@settings(max_examples=25, deadline=None)
@given(flow_inputs(document_process.PLAN))
async def test_any_document_is_read(document: SubmitDocument) -> None:
    host = flow_host(document_process.PLAN).substitute("ocr.status", READ).build()
    run = await host.start(document)
    assert run.completed_with(document_id=document.document_id)
