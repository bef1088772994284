"""`employee.onboard` on PostgreSQL: its history, its unwind, and the child that is undone with it."""

from __future__ import annotations

from typing import Any

import pytest
from workflow.app import capabilities
from workflow.company import Company
from workflow.contracts import EmploymentType, EquipmentRequest, OnboardEmployee
from workflow.plans import CATALOG

from flowx_runtime import Completed, Failed
from tests.acceptance.conftest import Database, cancel_this_run, run_that_is_cancelled

KIT = (
    EquipmentRequest(item="laptop-bag", needs_approval=False),
    EquipmentRequest(item="phone", needs_approval=True),
)


def whom(employment: EmploymentType = EmploymentType.PERMANENT, kit: Any = KIT, *, screened: bool = False) -> Any:
    return OnboardEmployee(
        candidate_id="c-1001",
        employment=employment,
        site="london",
        equipment=kit,
        requires_background_check=screened,
        national_id="NI-123-456",
    )


@pytest.fixture
def company() -> Company:
    return Company()


def all_steps(database: Database) -> list[str]:
    found = database.rows(
        "select i.flow_id, s.scope, s.step_id, s.capability_id, s.outcome from flow_step s "
        "join flow_instance i using (instance_id) order by i.flow_id, s.sequence"
    )
    return ["|".join(str(value) for value in row) for row in found]


async def test_the_history_of_a_run_has_sixteen_rows_with_their_scopes(
    open_host: Any, database: Database, company: Company
) -> None:
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom())
        assert isinstance(outcome, Completed), outcome
        assert outcome.value.equipment_issued == 2
    rows = all_steps(database)
    fork = slice(3, 6)
    assert sorted(rows[fork]) == [
        "employee.onboard||10|access.grant|Success",
        "employee.onboard||11|induction.book|Success",
        "employee.onboard||9|hardware.order|Success",
    ]
    del rows[fork]
    assert [row for row in rows if "|18|" not in row] == [
        "employee.onboard||0|offer.validate|Success",
        "employee.onboard||2|payroll.open|Success",
        "employee.onboard||7|identity.create|Success",
        "employee.onboard|0|16|equipment.auto_clear|Success",
        "employee.onboard|0|17|equipment.assign|Success",
        "employee.onboard|1|14|equipment.approve|Success",
        "employee.onboard|1|17|equipment.assign|Success",
        "employee.onboard||22|screening.waive|Success",
        "employee.onboard||23|welcome.send|Success",
        "employee.onboard||24|employee.onboarded|Success",
        "workspace.provision||0|workspace.allocate_desk|Success",
        "workspace.provision||1|workspace.issue_pass|Success",
    ]
    assert len(rows) + 3 == 16
    events = database.rows("select type, payload ->> 'equipment_issued' from outbox_event")
    assert events == [("employee.onboarded", "2")]


UNWIND = [
    "workspace.cancel_pass (c-1001)",
    "workspace.release_desk (c-1001)",
    "equipment.return (phone)",
    "equipment.return (laptop-bag)",
    ["access.revoke (c-1001)", "hardware.cancel (c-1001)"],
    "identity.disable (c-1001)",
    "payroll.close (c-1001)",
]


def assert_unwound(company: Company, effects_before: int) -> None:
    undone: list[Any] = company.effects[effects_before:]
    undone[4:6] = [sorted(undone[4:6])]  # two branches of a fork have no order between them
    assert undone == UNWIND
    assert not +company.standing


async def test_failing_late_unwinds_every_completed_step_in_strict_reverse(
    open_host: Any, database: Database, company: Company
) -> None:
    company.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom())
        assert isinstance(outcome, Failed)
        assert outcome.error.code == "onboarding.department_closed"
    assert_unwound(company, 8)


async def test_a_resumed_parent_undoes_the_child_it_stepped_over(
    open_host: Any, database: Database, company: Company
) -> None:
    class Dies(Company):
        alive = False

        def do(self, effect: str, subject: str) -> str:
            if effect == "welcome.send" and not self.alive:
                cancel_this_run()
            return super().do(effect, subject)

    dying = Dies()
    async with open_host(CATALOG, capabilities(dying)) as host:
        await run_that_is_cancelled(host, "employee.onboard", whom())
    (parent,) = database.rows("select instance_id from flow_instance where flow_id = 'employee.onboard'")[0]
    before = len(dying.effects)
    dying.alive = True
    dying.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(dying)) as another_node:
        outcome = await another_node.resume(parent)
        assert isinstance(outcome, Failed)
    assert_unwound(dying, before)


async def test_the_childs_own_failure_unwinds_the_child_and_then_the_parent(
    open_host: Any, database: Database, company: Company
) -> None:
    company.closed.add("workspace.issue_pass")
    async with open_host(CATALOG, capabilities(company)) as host:
        assert isinstance(await host.run("employee.onboard", whom()), Failed)
    undone = [effect for effect in company.effects if effect.split()[0] in {"workspace.release_desk", "payroll.close"}]
    assert undone == ["workspace.release_desk (c-1001)", "payroll.close (c-1001)"]
    assert not +company.standing


async def test_an_employment_that_no_case_matches_is_rejected_with_nothing_to_undo(
    open_host: Any, database: Database, company: Company
) -> None:
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom(EmploymentType.INTERN))
        assert isinstance(outcome, Failed)
        assert outcome.error.code == "onboarding.unsupported_employment"
        assert outcome.error.category == "validation"
    assert all_steps(database) == [
        "employee.onboard||0|offer.validate|Success",
        "employee.onboard||6||Failure",
    ]
    assert company.effects == []


async def test_the_other_arms_and_an_empty_loop(open_host: Any, database: Database, company: Company) -> None:
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom(EmploymentType.CONTRACTOR, (), screened=True))
        assert isinstance(outcome, Completed)
    rows = all_steps(database)
    assert "employee.onboard||4|supplier.sign|Success" in rows
    assert "employee.onboard||20|screening.start|Success" in rows
    assert not [row for row in rows if "|17|" in row]


async def test_the_national_id_is_in_no_row(open_host: Any, database: Database, company: Company) -> None:
    company.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(company)) as host:
        await host.run("employee.onboard", whom())
    for table in ("flow_instance", "flow_step", "outbox_event", "flow_inbox"):
        for row in database.rows(f"select row_to_json(t)::text from {table} t"):
            assert "NI-123-456" not in row[0]
