"""Every rule has its counterpart: in the other direction, and on the other side; or its file says why not."""

from __future__ import annotations

from typing import Any

import pytest

from flowx_compiler.diff.differences import Change
from flowx_compiler.diff.registry import rules
from flowx_compiler.diff.rule import Rule
from flowx_compiler.diff.rules import accepted_contract, produced_contract
from flowx_compiler.diff.uses import Direction, Place
from tests.diff.cases import FIRES
from tests.diff.sample import Document, edited, findings, sample, told

BY_NUMBER = {rule.number: rule for rule in rules()}
ABOUT_MARKS_AND_BUILDS = {Change.MARKED, Change.UNMARKED, Change.OPAQUE}
"""Told by rules that hold for both sides."""


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_every_rule_names_a_mirror_that_names_it_or_says_why_not(rule: Rule) -> None:
    assert rule.mirror or rule.asymmetry
    for number in rule.mirror:
        assert rule.number in BY_NUMBER[number].mirror


@pytest.mark.parametrize("case", FIRES, ids=lambda case: f"{case.code} {case.name}")
def test_a_change_undone_is_told_by_the_mirror(case: Any) -> None:
    back = {(finding.code, finding.subject) for finding in findings(edited(case.edit), sample())}
    for number, subject in case.told:
        rule = BY_NUMBER[number]
        mirrored = any((BY_NUMBER[mirror].code, subject) in back for mirror in rule.mirror)
        renamed = number == "210"
        assert mirrored or renamed or rule.asymmetry, f"{rule.code} {subject} undone is told by {sorted(back)}"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_every_rule_has_a_counterpart_on_the_other_side_or_says_why_not(rule: Rule) -> None:
    assert bool(rule.across) != bool(rule.one_sided)
    for number in rule.across:
        assert rule.number in BY_NUMBER[number].across
        assert number != rule.number


@pytest.mark.parametrize("change", [item for item in Change if item not in ABOUT_MARKS_AND_BUILDS])
def test_every_change_of_a_contract_is_judged_on_both_sides_by_rules_that_name_each_other(change: Change) -> None:
    accepted = accepted_contract._BY_CHANGE[change]
    produced = produced_contract._BY_CHANGE[change]
    assert produced.number in accepted.across


def test_a_change_that_hurts_nobody_on_both_sides_is_only_one_that_adds() -> None:
    harmless = {
        change
        for change, rule in accepted_contract._BY_CHANGE.items()
        if rule.verdict.value != "breaking" and produced_contract._BY_CHANGE[change].verdict.value != "breaking"
    }
    assert harmless == {Change.OPTIONAL_ADDED, Change.OPENED}


PLACES = {
    Place.FLOW_INPUT: lambda document, use: document["flows"][1].update(input=use),
    Place.FLOW_OUTPUT: lambda document, use: document["flows"][1].update(output=use),
    Place.CAPABILITY_INPUT: lambda document, use: document["capabilities"][2].update(input=use),
    Place.CAPABILITY_OUTPUT: lambda document, use: document["capabilities"][2].update(output=use),
    Place.SIGNAL: lambda document, use: document["signals"][0].update(contract=use),
    Place.EVENT: lambda document, use: document["events"][0].update(contract=use),
}
TEXT = {"type": "string"}
SHAPES: dict[str, tuple[tuple[dict[str, Any], list[str]], tuple[dict[str, Any], list[str]]]] = {
    "required field added": (({}, []), ({"x": TEXT}, ["x"])),
    "optional field added": (({}, []), ({"x": TEXT}, [])),
    "became required": (({"x": TEXT}, []), ({"x": TEXT}, ["x"])),
    "another type": (({"x": TEXT}, []), ({"x": {"type": "boolean"}}, [])),
    "null": (({"x": TEXT}, []), ({"x": {"anyOf": [TEXT, {"type": "null"}]}}, [])),
    "enum value": (({"x": {"enum": ["a"]}}, []), ({"x": {"enum": ["a", "b"]}}, [])),
    "constraint": (({"x": TEXT}, []), ({"x": {**TEXT, "maxLength": 9}}, [])),
}


def held(place: Place, shape: tuple[dict[str, Any], list[str]]) -> Document:
    document = sample()
    document["contracts"]["shop.Held"] = {"type": "object", "properties": shape[0], "required": shape[1]}
    PLACES[place](document, {"type": "shop.Held"})
    return document


@pytest.mark.parametrize("undone", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_place_of_one_side_gives_the_same_verdict(shape: str, *, undone: bool) -> None:
    verdicts: dict[Direction, set[tuple[str, ...]]] = {direction: set() for direction in Direction}
    for place in Place:
        old, new = (held(place, side) for side in SHAPES[shape][:: -1 if undone else 1])
        verdicts[place.direction].add(tuple(number for number, _ in told(old, new)))
    assert all(len(found) == 1 for found in verdicts.values()), verdicts
    assert all(len(*found) == 1 for found in verdicts.values()), verdicts
