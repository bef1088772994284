"""`employee.onboard` and its child: every way through, every way back, wherever a host dies."""

from __future__ import annotations

from datetime import timedelta

import pytest
from workflow.app import capabilities
from workflow.contracts import DepartmentClosed, EmploymentType, EquipmentRequest, Identity, OnboardEmployee
from workflow.plans import employee_onboard_v2_0_0 as employee_onboard
from workflow.plans import workspace_provision_v1_0_0 as workspace_provision

from flowx_runtime import KeyRing
from flowx_runtime.testing import (
    FlowTestHost,
    TestHostBuilder,
    after,
    crash_everywhere,
    fails,
    flow_host,
    interleave,
    sequence,
)

KIT = (EquipmentRequest(item="monitor", needs_approval=False), EquipmentRequest(item="keys", needs_approval=True))


def application() -> TestHostBuilder:
    """Both flows. The key ring lets a host that takes over read what is `Sensitive`."""
    both = flow_host(employee_onboard.PLAN, workspace_provision.PLAN)
    return both.with_capabilities(capabilities).with_key_ring(KeyRing({"k": b"k" * 32}, current="k"))


def whom(employment: EmploymentType = EmploymentType.PERMANENT) -> OnboardEmployee:
    return OnboardEmployee(
        candidate_id="c-1",
        employment=employment,
        site="london",
        equipment=KIT,
        requires_background_check=True,
        national_id="NI-123-456",
    )


async def onboard(host: FlowTestHost) -> None:
    run = await host.start(whom())
    await host.advance_until_done()
    assert run.completed_with(employee_id="c-1", equipment_issued=2)


async def go_back(host: FlowTestHost) -> None:
    run = await host.start(whom())
    await host.advance_until_done()
    assert run.failed_with("onboarding.department_closed")
    assert run.trace.compensated[:2] == ["workspace.cancel_pass", "workspace.release_desk"]
    assert run.trace.compensated[2:4] == ["equipment.return", "equipment.return"]
    assert run.trace.compensated[-2:] == ["identity.disable", "payroll.close"]


async def test_a_new_colleague_gets_everything() -> None:
    host = application().build()
    run = await host.start(whom())
    assert run.completed_with(employee_id="c-1", equipment_issued=2)
    assert "workspace.allocate_desk" in run.trace.executed
    assert [event.type for event in run.trace.events] == ["employee.onboarded"]


async def test_an_intern_is_refused_before_anything_is_done() -> None:
    host = application().build()
    run = await host.start(whom(EmploymentType.INTERN))
    assert run.failed_with("onboarding.unsupported_employment")
    assert run.trace.executed == ["offer.validate"]


async def test_the_directory_is_asked_again() -> None:
    busy = sequence(fails(DepartmentClosed), fails(DepartmentClosed), Identity(employee_id="c-1"))
    host = application().substitute("identity.create", busy).build()
    begun = host.now
    run = await host.start(whom())
    assert run.completed_with(employee_id="c-1")
    assert sum(call.capability_id == "identity.create" for call in host.calls) == 3
    assert timedelta(0) < host.now - begun < timedelta(seconds=1.5)


async def test_the_directory_that_does_not_answer_is_left_after_two_seconds_each_time() -> None:
    slow = after("PT1M", Identity(employee_id="c-1"))
    host = application().substitute("identity.create", slow).build()
    begun = host.now
    run = await host.start(whom())
    assert run.failed_with("capability.timed_out")
    assert timedelta(seconds=6) < host.now - begun < timedelta(seconds=8)


@pytest.mark.parametrize("step", ["welcome.send", "workspace.issue_pass", "hardware.order"])
async def test_a_department_that_is_closed_undoes_what_others_did(step: str) -> None:
    host = application().substitute(step, fails(DepartmentClosed)).build()
    run = await host.start(whom())
    await host.advance_until_done()
    assert run.failed_with("onboarding.department_closed")
    assert run.trace.compensated[-2:] == ["identity.disable", "payroll.close"]


async def test_a_killed_host_changes_nothing() -> None:
    await crash_everywhere(application(), onboard)
    await crash_everywhere(application().substitute("welcome.send", fails(DepartmentClosed)), go_back)


async def test_neither_does_the_order_of_the_three_tracks() -> None:
    await interleave(application(), onboard, seeds=10)
