"""`employee.onboard` on PostgreSQL: its history, its unwind, and the child that is undone with it."""

from __future__ import annotations

from typing import Any

import pytest
from workflow.app import capabilities
from workflow.company import Company
from workflow.contracts import DepartmentClosed, EmploymentType, EquipmentRequest, OnboardEmployee
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
    """Seed 004 §5: the sixteen rows, the loop's under the scope of their element, the child's in its own instance."""
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
    """Seed 004 §1, the unwind: the child first, one undo per element, the fork, the main line, the arm taken."""
    company.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom())
        assert isinstance(outcome, Failed)
        assert outcome.error.code == "onboarding.department_closed"
    assert_unwound(company, 8)


async def test_a_resumed_parent_undoes_the_child_it_stepped_over(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §6.2, fixed here: A · child(X, Y) · B goes back as B, Y, X, A after a resume as well."""

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
    """Seed 004 §8.1."""
    company.closed.add("workspace.issue_pass")
    async with open_host(CATALOG, capabilities(company)) as host:
        assert isinstance(await host.run("employee.onboard", whom()), Failed)
    undone = [effect for effect in company.effects if effect.split()[0] in {"workspace.release_desk", "payroll.close"}]
    assert undone == ["workspace.release_desk (c-1001)", "payroll.close (c-1001)"]
    assert not +company.standing


async def test_an_employment_that_no_case_matches_is_rejected_with_nothing_to_undo(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §5 and §8.2: `fail` is journaled like any failed step."""
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
    """Seed 004 §1 and §8.3."""
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom(EmploymentType.CONTRACTOR, (), screened=True))
        assert isinstance(outcome, Completed)
    rows = all_steps(database)
    assert "employee.onboard||4|supplier.sign|Success" in rows
    assert "employee.onboard||20|screening.start|Success" in rows
    assert not [row for row in rows if "|17|" in row]


async def test_the_national_id_is_in_no_row(open_host: Any, database: Database, company: Company) -> None:
    """Seed 004 §7.3, and p52: what is sensitive is in no table, though inputs and results are."""
    company.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(company)) as host:
        await host.run("employee.onboard", whom())
    tables = database.rows("select table_name from information_schema.tables where table_schema = %s", database.schema)
    assert ("flow_step",) in tables
    for (table,) in tables:
        for row in database.rows(f"select row_to_json(t)::text from {table} t"):
            assert "NI-123-456" not in row[0]


async def test_the_event_is_staged_in_the_transaction_of_the_step_that_emits_it(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §5: one write, and the partition key is the instance."""
    async with open_host(CATALOG, capabilities(company)) as host:
        outcome = await host.run("employee.onboard", whom())
    staged = database.rows("select partition_key, xmin::text from outbox_event")
    assert staged == [
        (str(outcome.instance_id), written)
        for (written,) in database.rows("select xmin::text from flow_step where capability_id = 'employee.onboarded'")
    ]


async def test_a_step_after_a_resume_binds_what_an_earlier_step_produced(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §7.1: results come back from their rows as the walk passes them."""

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
    dying.alive = True
    async with open_host(CATALOG, capabilities(dying)) as another_node:
        outcome = await another_node.resume(parent)
    assert isinstance(outcome, Completed)
    assert outcome.value.employee_id == "c-1001"


async def test_an_undo_with_a_policy_of_its_own_is_tried_again(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §3: the one policy that acts on an undo reaches the plan and acts; each try is a row."""

    class Jams(Company):
        tries = 0

        def undo(self, undo: str, effect: str, subject: str) -> None:
            if undo == "workspace.release_desk":
                self.tries += 1
                if self.tries < 3:
                    raise DepartmentClosed("the desk is jammed")
            super().undo(undo, effect, subject)

    jamming = Jams()
    jamming.closed.add("welcome.send")
    async with open_host(CATALOG, capabilities(jamming)) as host:
        assert isinstance(await host.run("employee.onboard", whom()), Failed)
    assert jamming.tries == 3
    assert not +jamming.standing
    assert [row.split("|")[3:] for row in all_steps(database) if "release_desk" in row] == [
        ["workspace.release_desk", "Failure"],
        ["workspace.release_desk", "Failure"],
        ["workspace.release_desk", "Compensated"],
    ]


async def test_inputs_and_results_are_stored_with_their_sensitive_members_redacted(
    open_host: Any, database: Database, company: Company
) -> None:
    """Seed 004 §7.3: the store has something to redact, and redacts it."""
    async with open_host(CATALOG, capabilities(company)) as host:
        await host.run("employee.onboard", whom())
    ((candidate, national_id),) = database.rows(
        "select input ->> 'candidate_id', input ->> 'national_id' from flow_instance where flow_id = 'employee.onboard'"
    )
    assert candidate == "c-1001"
    assert national_id not in {None, "NI-123-456"}
    assert database.rows("select capability_id from flow_step where result is null") == [("employee.onboarded",)]
