"""The same scenario leaves the same trace in memory and on PostgreSQL, undisturbed and killed at every write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from offers.app import capabilities as offers_capabilities
from offers.contracts import OfferCountersigned, OfferToAccept
from offers.plans import offer_accept_v1_0_0 as offer_accept
from offers.signature_service import SignatureService
from payments.app import capabilities as payments_capabilities
from payments.contracts import OrderLine, PayOrder
from payments.plans import order_pay_v1_0_0 as order_pay
from payments.stand_ins import InMemoryMailer, InMemoryProcessor, InMemoryWarehouse
from polling.app import capabilities as polling_capabilities
from polling.contracts import OcrCompleted, SubmitDocument
from polling.ocr_provider import OcrProvider
from polling.plans import document_process_v1_0_0 as document_process
from workflow.app import capabilities as workflow_capabilities
from workflow.contracts import DepartmentClosed, EmploymentType, EquipmentRequest, OnboardEmployee
from workflow.plans import employee_onboard_v2_0_0 as employee_onboard
from workflow.plans import workspace_provision_v1_0_0 as workspace_provision

from flowx_runtime import KeyRing
from flowx_runtime.testing import FlowTestHost, TestHostBuilder, crash_everywhere, fails, flow_host, interleave
from flowx_runtime.testing.crashes import Crashes, Told
from flowx_runtime.testing.stores import PostgresSchemas
from flowx_runtime.testing.surroundings import SURROUNDINGS
from tests.testing.flows import CHILD, NIGHTLY, ONCE, PARENT, RETRIED, TWO_WAITS
from tests.testing.scenarios import approve_and_pay, to_the_end, two_nights


@pytest.fixture(scope="module")
def schemas(postgres_dsn: str) -> Iterator[PostgresSchemas]:
    made = PostgresSchemas(postgres_dsn)
    yield made
    made.drop()


def documents(seconds_per_page: float) -> TestHostBuilder:
    return flow_host(document_process.PLAN).with_capabilities(
        lambda clock: polling_capabilities(OcrProvider(seconds_per_page, clock.time))
    )


OFFERS = flow_host(offer_accept.PLAN).with_capabilities(lambda: offers_capabilities(SignatureService(0.0)))
ONBOARDING = (
    flow_host(employee_onboard.PLAN, workspace_provision.PLAN)
    .with_capabilities(workflow_capabilities)
    .with_key_ring(KeyRing({"k": b"k" * 32}, current="k"))
)
PAYMENTS = flow_host(order_pay.PLAN).with_capabilities(
    lambda: payments_capabilities(InMemoryWarehouse(), InMemoryProcessor(down_for=2), InMemoryMailer())
)
DOCUMENT = SubmitDocument(document_id="doc-1", content_type="application/pdf", pages=12)
PAID_ORDER = PayOrder(order_id="o-1", lines=(OrderLine(sku="tea", quantity=2),), total_cents=1990, card_token="tok-1")
OFFER = OfferToAccept(candidate_id="c-42", role="staff-engineer", site="london")
WHOM = OnboardEmployee(
    candidate_id="c-1",
    employment=EmploymentType.CONTRACTOR,
    site="london",
    equipment=tuple(EquipmentRequest(item=item, needs_approval=item == "keys") for item in ("monitor", "keys")),
    requires_background_check=True,
    national_id="NI-123-456",
)


async def read(host: FlowTestHost) -> None:
    await host.start(DOCUMENT)
    await host.advance_until_done()


async def be_notified(host: FlowTestHost) -> None:
    await host.start(DOCUMENT)
    host.signal_at("PT1M", OcrCompleted(job_id="job-1"))
    await host.advance_until_done()


async def accept(host: FlowTestHost) -> None:
    await host.start(OFFER)
    host.signal_at("P3D", OfferCountersigned(envelope_id="env-c-42", signed_by="ada", signed_at=host.now))
    await host.advance_until_done()


async def ignore(host: FlowTestHost) -> None:
    await host.start(OFFER)
    await host.advance_until_done()


async def onboard(host: FlowTestHost) -> None:
    await host.start(WHOM)
    await host.advance_until_done()


async def pay(host: FlowTestHost) -> None:
    await host.start(PAID_ORDER)
    await host.advance_until_done()


def _told(told: Told) -> Any:
    return told.traces, [str(write) for write in told.boundaries]


async def killed_on_both(builder: TestHostBuilder, scenario: Any, schemas: PostgresSchemas) -> tuple[Crashes, Crashes]:
    in_memory = await crash_everywhere(builder, scenario)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SURROUNDINGS, "open_store", schemas.open_store)
        return in_memory, await crash_everywhere(builder, scenario)


@pytest.mark.slow  # some sixty runs on a real server each
@pytest.mark.parametrize(
    ("builder", "scenario"),
    [
        (documents(2.0), read),
        (documents(10_000.0), be_notified),
        (OFFERS, accept),
        (OFFERS, ignore),
        (ONBOARDING, onboard),
        (ONBOARDING.substitute("welcome.send", fails(DepartmentClosed)), onboard),
        (PAYMENTS, pay),
        (flow_host(RETRIED), to_the_end),
        (flow_host(ONCE), to_the_end),
        (flow_host(TWO_WAITS), approve_and_pay),
        (flow_host(PARENT, CHILD), to_the_end),
        (flow_host(NIGHTLY), two_nights),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_the_trace_is_the_same_at_every_crash_point(
    builder: Any, scenario: Any, schemas: PostgresSchemas
) -> None:
    in_memory, on_postgres = await killed_on_both(builder, scenario, schemas)
    assert _told(on_postgres.undisturbed) == _told(in_memory.undisturbed)
    assert on_postgres.passes.keys() == in_memory.passes.keys()
    for where, told in in_memory.passes.items():
        assert _told(on_postgres.passes[where]) == _told(told), where


async def test_orders_that_a_seed_draws_come_to_the_same_on_postgres(schemas: PostgresSchemas) -> None:
    in_memory = await interleave(TWO_WAITS, approve_and_pay, seeds=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SURROUNDINGS, "open_store", schemas.open_store)
        on_postgres = await interleave(TWO_WAITS, approve_and_pay, seeds=4)
    assert [sorted(map(str, told.traces[0].rows)) for told in on_postgres.values()] == [
        sorted(map(str, told.traces[0].rows)) for told in in_memory.values()
    ]
