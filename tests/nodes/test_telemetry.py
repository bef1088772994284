"""Traces and metrics of a host, as the SDK's in-memory exporters get them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from flowx_runtime import (
    Backoff,
    Category,
    Contract,
    FlowError,
    FlowHost,
    Internal,
    Sensitive,
    StepContext,
    Suspended,
    capability,
)
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.plan import CapabilityUse, Delay, Step
from flowx_runtime.telemetry.opentelemetry import OpenTelemetry
from tests.nodes.scene import Database, Order, node, plan

CANARY = "c4n4ry-c4n4ry"


class Declined(FlowError, code="card.declined", category=Category.CONFLICT):
    """The bank says no."""


class Card(Contract):
    number: Sensitive[str]


@capability("card.charge", version="2.1.0", authorization=Internal(), idempotent=True)
async def charge(request: Card, ctx: StepContext) -> None:
    if request.number.endswith("no"):
        raise Declined(f"{request.number} was declined")
    if request.number.endswith("bug"):
        raise RuntimeError(request.number)


@capability("card.refund", version="1.0.0", authorization=Internal(), idempotent=True)
async def refund(request: Card, ctx: StepContext) -> None: ...


CHARGE = CapabilityUse(charge, "card.charge", "2.1.0", Card, None, idempotent=True)
REFUND = CapabilityUse(refund, "card.refund", "1.0.0", Card, None, idempotent=True)


def paying(*nodes: Any) -> Any:
    return replace(plan("card.pay", *nodes), input=Card)


class Told:
    """What came of it."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.telemetry = OpenTelemetry(
            tracer_provider=tracers, meter_provider=MeterProvider(metric_readers=[self._reader])
        )

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    @property
    def metrics(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    @property
    def everything(self) -> str:
        return "".join(span.to_json() for span in self._spans.get_finished_spans()) + str(self.metrics)


@pytest.fixture
def told() -> Told:
    return Told()


async def test_a_flow_and_its_steps_are_spans_one_inside_the_other(told: Told) -> None:
    flow = paying(Step(0, "charge", CHARGE))
    async with FlowHost([flow], journal=MemoryJournal(), sweep_interval=None, telemetry=told.telemetry) as host:
        outcome = await host.run(flow, Card(number=CANARY), tenant_id="t-1")
    run, step = told.spans["flow card.pay"], told.spans["step charge"]
    assert step.parent.span_id == run.context.span_id
    assert dict(run.attributes) == {
        "flowx.flow.id": "card.pay",
        "flowx.flow.version": "1.0.0",
        "flowx.flow.profile": "durable",
        "flowx.flow.instance_id": str(outcome.instance_id),
        "flowx.tenant.id": "t-1",
        "flowx.flow.state": "Completed",
    }
    assert step.attributes["flowx.capability.id"] == "card.charge"
    assert step.attributes["flowx.capability.version"] == "2.1.0"
    assert step.attributes["flowx.attempt"] == 1
    (ended,) = told.metrics["flowx_flow_total"]
    assert (ended.value, ended.attributes["flowx.flow.state"]) == (1, "Completed")
    assert [point.value for point in told.metrics["flowx_flow_active"]] == [0]
    assert sum(point.count for point in told.metrics["flowx_journal_commit_seconds"]) >= 1
    assert sum(point.count for point in told.metrics["flowx_flow_duration_seconds"]) == 1


@pytest.mark.parametrize(("end", "code"), [("no", "card.declined"), ("bug", "capability.unhandled")])
async def test_p52_a_failure_is_told_by_its_code_and_no_secret_is(told: Told, end: str, code: str) -> None:
    flow = paying(
        Step(0, "reserve", REFUND, compensation=REFUND),
        Step(1, "charge", CHARGE),
    )
    async with FlowHost([flow], journal=MemoryJournal(), sweep_interval=None, telemetry=told.telemetry) as host:
        await host.run(flow, Card(number=CANARY + end), idempotency_key=CANARY)
    step = told.spans["step charge"]
    assert step.attributes["flowx.error.code"] == code
    assert (step.status.status_code, step.status.description) == (StatusCode.ERROR, code)
    assert not step.events
    assert told.spans["undo reserve"].attributes["flowx.compensating_for"] == "card.refund"
    unhandled = told.metrics.get("flowx_capability_unhandled_total", [])
    assert len(unhandled) == (code == "capability.unhandled")
    assert CANARY not in told.everything


@capability("card.hold", version="1.0.0", authorization=Internal(), idempotent=True)
async def hold(request: Card, ctx: StepContext) -> None:
    async def unreachable() -> None:
        raise ConnectionError

    async with asyncio.TaskGroup() as group:
        held = ctx.once("hold", unreachable, retry=Backoff.fixed("PT1H").max_attempts(2))
        group.create_task(held)  # type: ignore[arg-type]


async def test_a_step_of_a_task_group_that_is_to_be_tried_again_is_told_as_parked_and_no_defect(told: Told) -> None:
    use = CapabilityUse(hold, "card.hold", "1.0.0", Card, None, idempotent=True, has_steps=True)
    flow = paying(Step(0, "hold", use))
    async with FlowHost([flow], journal=MemoryJournal(), sweep_interval=None, telemetry=told.telemetry) as host:
        assert isinstance(await host.run(flow, Card(number="1")), Suspended)
    assert "flowx.error.code" not in told.spans["step hold"].attributes
    assert not told.metrics.get("flowx_capability_unhandled_total")


async def test_p46_waits_schedules_events_and_foreign_plans_are_counted(told: Told, database: Database) -> None:
    class Publisher:
        async def publish(self, _: Envelope) -> None: ...

    settings = {"sweep_interval": None, "telemetry": told.telemetry, "publisher": Publisher()}
    async with (
        await node(database.dsn, database.schema, **settings) as host,
        await node(
            database.dsn, database.schema, plans=(plan("work.other", Delay(0, "rest", timedelta(days=1))),)
        ) as other,
    ):
        await host.run("work.telling", Order(name="o"))
        await host.publish_once()
        parked = await host.run("work.waiting", Order(name="o"))
        database.rows("update flow_instance set wake_at = now() - interval '5 s' where wake_at is not null")
        assert await host.sweep_once() == 1
        foreign = await other.run("work.other", Order(name="o"))
        await host.resume(parked.instance_id)
        with pytest.raises(Exception, match="does not have the plan"):
            await host.resume(foreign.instance_id)
        (late,) = told.metrics["flowx_wait_lateness_seconds"]
        assert late.count == 1
        assert 5 <= late.sum < 60
        counts = {
            name: {tuple(point.attributes.values()): point.value for point in told.metrics[name]}
            for name in ("flowx_instance_not_runnable_total", "flowx_outbox_events_total")
        }
    assert counts["flowx_instance_not_runnable_total"] == {("work.other", "1.0.0"): 1}
    assert counts["flowx_outbox_events_total"] == {("published",): 1, ("failed",): 0, ("poisoned",): 0}


def test_the_runtime_imports_it_only_where_it_is_asked_for() -> None:
    code = (
        "import sys, flowx_runtime.host.flow_host; assert not [m for m in sys.modules if m.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_where_it_is_not_installed_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "try:\n    import flowx_runtime.telemetry.opentelemetry\n"
        "except Exception as error: print(error.code, error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "telemetry.missing OpenTelemetry is not installed: pip install 'flowx-durable[otel]'\n"
