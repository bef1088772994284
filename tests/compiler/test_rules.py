"""Every rule fires where its examples say, stays silent where they say, and is what the catalogue needs it to be."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flowx_compiler.build import compile_sources
from flowx_compiler.config import Config
from flowx_compiler.findings import Finding, Severity
from flowx_compiler.link import link, problem_ids
from flowx_compiler.link.sources import Sources
from flowx_compiler.released import read_released
from flowx_compiler.rules.examples import before, example_files, marked_lines
from flowx_compiler.rules.flowx1302_generated_file_is_stale import stale as said_of
from flowx_compiler.rules.page import page
from flowx_compiler.rules.registry import RegisteredRule, find_rule, registry
from flowx_compiler.rules.rule import Example
from flowx_compiler.rules.run import run_rules

RULES = registry()
INVALID = [(entry, number) for entry in RULES for number in range(len(entry.invalid))]
VALID = [(entry, number) for entry in RULES for number in range(len(entry.valid))]


CONFIG = Config(root=Path(), sources=("example.py",), plans="plans")


def findings_in(example: Example, rule: str = "") -> list[Finding]:
    found: tuple[Finding, ...]
    if not example.is_compared:
        found = run_rules(link(Sources.of(example_files(example))))
    else:
        former = compile_sources(example_files(before(example)), CONFIG, {})
        if rule == "FLOWX1302":
            built = compile_sources(example_files(example), CONFIG, {})
            stale = [path for path, text in built.files.items() if former.files[path] != text]
            found = tuple(said_of(path, is_missing=False, made_from=built.made_from.get(path)) for path in stale)
        else:
            released = read_released(former.files[CONFIG.manifest])
            existing = {Path(path).stem: text for path, text in former.files.items() if "_v" in path}
            found = compile_sources(example_files(example), CONFIG, existing, released=released).findings
            # A retired plan is no source: its finding points to what in the example it reads.
            found = tuple(
                replace(finding, place=finding.related[0].place) if finding.id == "FLOWX1304" else finding
                for finding in found
            )
    return [finding for finding in found if finding.place.file == "example.py"]


def label(case: object) -> str:
    return case.rule.id if isinstance(case, RegisteredRule) else str(case)


@pytest.mark.parametrize(("entry", "number"), INVALID, ids=label)
def test_p09_an_invalid_example_is_found_on_its_marked_lines(entry: RegisteredRule, number: int) -> None:
    example = entry.invalid[number]
    assert marked_lines(example), "an invalid example marks the line it is found on"
    found = [finding.place.span.line for finding in findings_in(example, entry.rule.id) if finding.id == entry.rule.id]
    assert found == marked_lines(example)


@pytest.mark.parametrize(("entry", "number"), VALID, ids=label)
def test_a_valid_example_gives_no_finding_of_any_rule(entry: RegisteredRule, number: int) -> None:
    assert findings_in(entry.valid[number], entry.rule.id) == []


@pytest.mark.parametrize("entry", RULES, ids=label)
def test_a_disabled_rule_is_missed(entry: RegisteredRule, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutation check: without the rule its own examples say nothing, so the tests above would fail."""
    rest = tuple(
        replace(other, check=lambda program: iter(())) if other.rule.id == entry.rule.id else other for other in RULES
    )
    monkeypatch.setattr("flowx_compiler.rules.run.registry", lambda: rest)
    for example in entry.invalid:
        assert all(finding.id != entry.rule.id for finding in findings_in(example))


def test_ids_and_names_are_unique_and_well_formed() -> None:
    assert len({entry.rule.id for entry in RULES}) == len(RULES)
    assert len({entry.rule.name for entry in RULES}) == len(RULES)
    for entry in RULES:
        assert re.fullmatch(r"FLOWX1\d{3}", entry.rule.id)
        assert entry.module.__name__.rpartition(".")[2].startswith(entry.rule.id.lower())


@pytest.mark.parametrize("entry", RULES, ids=label)
def test_a_rule_has_a_page_and_both_kinds_of_example(entry: RegisteredRule) -> None:
    assert entry.invalid
    assert entry.valid
    for heading in ("What it detects:", "Why it matters:", "When to suppress:"):
        assert heading in entry.page
    assert entry.rule.id in page(entry)


def test_safety_rules_are_errors() -> None:
    assert all(entry.rule.severity is Severity.ERROR for entry in RULES if entry.rule.is_safety)


def test_every_problem_that_linking_can_report_has_its_rule() -> None:
    ids = {value for name, value in vars(problem_ids).items() if name.isupper()}
    ids |= {"FLOWX1280", "FLOWX1281", "FLOWX1282"}
    assert {id for id in ids if find_rule(id) is None} == set()


def test_a_finding_names_a_symbol_and_says_what_to_write() -> None:
    for entry in RULES:
        for example in entry.invalid:
            for finding in findings_in(example):
                assert finding.message
                assert not finding.message.endswith(".")
                assert finding.help, f"{finding.id} has no help"
