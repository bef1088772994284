"""Every rule fires where it must, and its neighbours stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowx_compiler.diff.pages import pages
from flowx_compiler.diff.registry import families, rules
from tests.diff.cases import FIRES, SILENT, Fires, Silent
from tests.diff.sample import edited, findings, sample, told

DOCS = Path(__file__).parents[2] / "docs" / "diff"
BY_NUMBER = {rule.number: rule for rule in rules()}


@pytest.mark.parametrize("case", FIRES, ids=lambda case: f"{case.code} {case.name}")
def test_an_edit_is_told_by_exactly_these_findings(case: Fires) -> None:
    assert case.code in dict(case.told)
    assert told(sample(), edited(case.edit)) == list(case.told)


@pytest.mark.parametrize("case", SILENT, ids=lambda case: f"{case.code} {case.name}")
def test_a_neighbouring_edit_does_not_fire_the_rule(case: Silent) -> None:
    assert case.code not in dict(case.told)
    assert told(sample(), edited(case.edit)) == list(case.told)


def test_every_code_has_an_edit_that_fires_it_and_one_that_does_not() -> None:
    assert {case.code for case in FIRES} == set(BY_NUMBER)
    assert {case.code for case in SILENT} == set(BY_NUMBER)


def test_numbers_are_used_once_and_say_their_class() -> None:
    listed = [rule for family in families() for rule in family.RULES]
    assert len(listed) == len(BY_NUMBER)
    neutral_by_history = {"019"}
    for rule in listed:
        first = {"0": "breaking", "1": "additive", "2": "neutral"}[rule.number[0]]
        assert rule.verdict.value == ("neutral" if rule.number in neutral_by_history else first)


def test_the_documentation_is_what_the_rules_say() -> None:
    on_disk = {path.name: path.read_text("utf-8") for path in DOCS.glob("*.md")}
    assert on_disk == pages(), "run `python -m flowx_compiler.diff.pages docs/diff`"


def test_every_finding_says_who_is_hurt_and_what_to_do() -> None:
    for case in FIRES:
        for finding in findings(sample(), edited(case.edit)):
            assert all((finding.subject, finding.summary, finding.old, finding.new, finding.hurt, finding.advice))
            assert finding.old != finding.new


def test_a_required_field_says_which_callers() -> None:
    case = next(case for case in FIRES if case.name == "inside a list")
    (finding,) = findings(sample(), edited(case.edit))
    assert finding.hurt == (
        "callers of flow order.place@1"
        " (HTTP POST /orders, agents that call it as a tool, publishers to cart.closed, schedule 0 2 * * *)"
    )
    assert (finding.old, finding.new) == ("(none)", "required string")


def test_a_renamed_field_is_suspected() -> None:
    case = next(case for case in FIRES if case.name == "a field of an input is renamed")
    removed = next(item for item in findings(sample(), edited(case.edit)) if item.code.endswith("031"))
    assert "renamed to recipient?" in removed.summary
