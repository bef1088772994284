"""Faults that engines have had, planted in this one: `crash_everywhere` finds each, and says what it is."""

from __future__ import annotations

from typing import Any

import pytest
from polling.app import capabilities as polling_capabilities
from polling.contracts import SubmitDocument
from polling.ocr_provider import OcrProvider
from polling.plans import document_process_v1_0_0 as document_process
from workflow.app import capabilities as workflow_capabilities
from workflow.contracts import DepartmentClosed, EmploymentType, EquipmentRequest, OnboardEmployee
from workflow.plans import employee_onboard_v2_0_0 as employee_onboard
from workflow.plans import workspace_provision_v1_0_0 as workspace_provision

from flowx_runtime import KeyRing
from flowx_runtime.engine import steps, waiting
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.undo import Undo
from flowx_runtime.testing import (
    FlowTestHost,
    Interrupted,
    TestHostBuilder,
    crash_everywhere,
    fails,
    flow_host,
)
from tests.testing.flows import APPROVED_TWICE, AT_ONCE, ORDER, Approved, Late
from tests.testing.planting import plant
from tests.testing.scenarios import to_the_end


def documents() -> TestHostBuilder:
    return flow_host(document_process.PLAN).with_capabilities(
        lambda clock: polling_capabilities(OcrProvider(10.0, clock.time))
    )


def onboarding() -> TestHostBuilder:
    both = flow_host(employee_onboard.PLAN, workspace_provision.PLAN)
    return both.with_capabilities(workflow_capabilities).substitute("welcome.send", fails(DepartmentClosed))


async def read(host: FlowTestHost) -> None:
    await host.start(SubmitDocument(document_id="doc-1", content_type="application/pdf", pages=12))
    await host.advance_until_done()


async def onboard(host: FlowTestHost) -> None:
    kit = tuple(EquipmentRequest(item=item, needs_approval=False) for item in ("monitor", "keys"))
    await host.start(
        OnboardEmployee(
            candidate_id="c",
            employment=EmploymentType.PERMANENT,
            site="s",
            equipment=kit,
            requires_background_check=False,
            national_id="n",
        )
    )
    await host.advance_until_done()


async def approve(host: FlowTestHost) -> None:
    started = await host.start(ORDER)
    await started.signal(Approved(by="ada"))
    await host.advance_until_done()


async def test_an_undo_that_is_given_the_latest_value_and_not_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    latest: dict[type[Any], Any] = {}
    put, own = Bag.put, Undo.value

    def put_and_keep(bag: Bag, contract: type[Any], value: Any) -> None:
        latest[contract] = value
        put(bag, contract, value)

    monkeypatch.setattr(Bag, "put", put_and_keep)
    monkeypatch.setattr(Undo, "value", lambda undo, documents: latest.get(undo.use.request) or own(undo, documents))
    with pytest.raises(
        Interrupted, match=r"equipment\.return .*undoes equipment\.assign .*item='keys'.*item='monitor'"
    ):
        await crash_everywhere(onboarding(), onboard)


async def test_a_poll_that_asks_its_predicate_only_after_an_attempt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    passing = "attempts, first_attempt = _pass_attempts(walker, frame, body)"
    plant(
        monkeypatch,
        waiting.poll,
        (passing, f"{passing}; passed = attempts"),
        ("if attempts and walker.ask(", "if attempts > passed and walker.ask("),
    )
    with pytest.raises(
        Interrupted, match=r"(?s)killed just after write \d+ \(row of ocr\.status.*too much: ocr\.status"
    ):
        await crash_everywhere(documents(), read)


async def test_a_signal_that_is_consumed_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, waiting._take_signal, ("taken=delivery)", "taken=None)"))
    with pytest.raises(Interrupted, match=r"signal 'test\.approved' was delivered 1 times and consumed once more"):
        await crash_everywhere(APPROVED_TWICE, approve)


async def test_a_row_that_is_written_after_the_effect_of_the_next_step_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, steps._attempt, ("await session.flush()", "pass"))
    with pytest.raises(Interrupted, match=r"ocr\.status \(scope 0\) was called before the row of ocr\.upload"):
        await crash_everywhere(documents(), read)


async def test_a_step_that_is_called_again_although_its_row_is_written_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, steps.step, ("if row is not None:", "if row is not None and node.index:"))
    with pytest.raises(Interrupted, match=r"ocr\.upload was called again although its row had been written"):
        await crash_everywhere(documents(), read)


async def test_a_retry_budget_that_begins_anew_on_takeover_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(
        monkeypatch,
        steps._answer,
        ("    while True:\n", "    made = 0\n    while True:\n        made += 1\n"),
        ("is_retried(retry, row.attempt, error)", "is_retried(retry, made, error)"),
    )
    with pytest.raises(Interrupted, match=r"(?s)killed just .*too much: test\.charge attempt [45]"):
        await crash_everywhere(flow_host(AT_ONCE).substitute("test.charge", fails(Late)), to_the_end)


async def test_nothing_is_found_where_nothing_is_planted() -> None:
    # What is `Sensitive` is there after a crash only if it was sealed.
    await crash_everywhere(onboarding().with_key_ring(KeyRing({"k": b"k" * 32}, current="k")), onboard)
    await crash_everywhere(documents(), read)
    await crash_everywhere(APPROVED_TWICE, approve)
    await crash_everywhere(flow_host(AT_ONCE).substitute("test.charge", fails(Late)), to_the_end)
