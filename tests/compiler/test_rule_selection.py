"""Which rules run, and how bad what they find is: settings, command line and directives together."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from flowx_compiler.config import Config
from flowx_compiler.errors import UsageProblem
from flowx_compiler.findings import Severity
from flowx_compiler.rules.registry import registry
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.selection import Selection, selection
from tests.compiler.report_scene import FLOWS, program_of

SAFETY = [entry.rule.id for entry in registry() if entry.rule.is_safety]
REASONED = "# flowx: ignore[FLOWX1012] a reservation runs out by itself\n"


def config(**settings: object) -> Config:
    return Config(root=Path(), sources=("flows",), plans="plans", **settings)  # type: ignore[arg-type]


def found(selected: Selection, text: str = FLOWS) -> list[str]:
    return sorted({finding.id for finding in judge(program_of(text), selected).findings})


@pytest.mark.parametrize(("in_config", "on_command_line", "inline"), list(product([False, True], repeat=3)))
def test_b11_ignores_add_up(*, in_config: bool, on_command_line: bool, inline: bool) -> None:
    text = FLOWS if inline else FLOWS.replace(REASONED, "")
    settings = config(ignore=("FLOWX1012",) if in_config else ("FLOWX1066",))
    selected = selection(settings, ignore=["FLOWX1012"] if on_command_line else ["FLOWX1060"])
    reported = "FLOWX1012" in found(selected, text)
    assert reported is not (in_config or on_command_line or inline)
    assert "FLOWX1290" not in found(selected, text)


def test_an_ignore_of_another_rule_ignores_nothing_else() -> None:
    assert found(selection(config(ignore=("FLOWX1043",)))) == ["FLOWX1044"]


def test_select_runs_only_these_rules_and_the_safety_rules() -> None:
    assert found(selection(config(select=("FLOWX1012",)))) == ["FLOWX1044"]
    assert found(selection(config(select=("FLOWX1043",)))) == ["FLOWX1043", "FLOWX1044"]


def test_the_select_of_the_command_line_wins_over_that_of_the_settings() -> None:
    settings = config(select=("FLOWX1012",))
    assert found(selection(settings, select=["1043"])) == ["FLOWX1043", "FLOWX1044"]


@pytest.mark.parametrize(
    ("pattern", "ignored"),
    [
        ("flows.py", True),
        ("*.py", True),
        ("app/*", True),
        ("app/**", True),
        ("app/flows.py", True),
        ("app/other.py", False),
        ("other/*", False),
        ("shop.py", False),
    ],
)
def test_per_file_ignores_match_from_the_project_root(pattern: str, ignored: bool) -> None:
    selected = selection(config(per_file_ignores={pattern: ("FLOWX1043",)}), prefix="app")
    assert ("FLOWX1043" not in found(selected)) is ignored


def test_a_directive_in_a_file_where_its_rule_is_ignored_is_not_unused() -> None:
    selected = selection(config(per_file_ignores={"flows.py": ("FLOWX1012",)}))
    assert found(selected) == ["FLOWX1043", "FLOWX1044"]


def test_severity_is_what_the_project_says() -> None:
    findings = judge(program_of(), selection(config(severity={"FLOWX1043": "error"}))).findings
    assert {finding.severity for finding in findings} == {Severity.ERROR}
    raised = selection(config(severity={"FLOWX1290": "error"}))
    assert found(raised) == ["FLOWX1043", "FLOWX1044"], "a directive that is used is not unused, however bad that is"


@pytest.mark.parametrize("id", SAFETY)
def test_no_setting_silences_a_safety_rule(id: str) -> None:
    for silenced in (
        lambda: selection(config(ignore=(id,))),
        lambda: selection(config(per_file_ignores={"a.py": (id,)})),
        lambda: selection(config(severity={id: "warning"})),
        lambda: selection(ignore=[id]),
    ):
        with pytest.raises(UsageProblem, match=id):
            silenced()
    assert selection(config(severity={id: "error"})).severity == {id: Severity.ERROR}
    rule = next(entry.rule for entry in registry() if entry.rule.id == id)
    assert selection(select=["FLOWX1012"]).runs(rule)


@pytest.mark.parametrize(
    "settings",
    [
        {"select": ("FLOWX9999",)},
        {"ignore": ("FLOWX9999",)},
        {"per_file_ignores": {"a.py": ("FLOWX9999",)}},
        {"severity": {"FLOWX9999": "error"}},
        {"severity": {"FLOWX1012": "info"}},
    ],
)
def test_what_no_rule_or_severity_is_called_is_a_usage_problem(settings: dict[str, object]) -> None:
    with pytest.raises(UsageProblem) as wrong:
        selection(config(**settings))
    assert "\n" not in str(wrong.value)


def test_a_slip_is_met_with_the_nearest_id() -> None:
    with pytest.raises(UsageProblem, match="did you mean FLOWX1012"):
        selection(ignore=["FLOWX10122"])
