"""The baseline: known findings are silent, new ones are not, fixed ones are told."""

from __future__ import annotations

import json

import pytest

from flowx_compiler.baseline import apply_baseline, parse_baseline, render_baseline
from flowx_compiler.errors import UsageProblem
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.selection import EVERYTHING, Selection, selection
from flowx_compiler.verdict import KnownFinding, Verdict
from tests.compiler.report_scene import FLOWS, program_of

NO_UNDO_LOG = FLOWS.replace("# flowx: ignore[FLOWX1012] a reservation runs out by itself\n", "")


def written(text: str = NO_UNDO_LOG, selected: Selection = EVERYTHING) -> str:
    program = program_of(text)
    return render_baseline(program, judge(program, selected), selected)


def held_to(baseline: str, text: str, selected: Selection = EVERYTHING, gone: frozenset[str] = frozenset()) -> Verdict:
    program = program_of(text)
    entries = parse_baseline(baseline, "known.json")
    return apply_baseline(program, judge(program, selected), entries, selected, gone=gone)


def ids(verdict: Verdict) -> list[str]:
    return [finding.id for finding in verdict.findings]


def test_a_known_finding_is_not_reported_and_a_safety_rule_always_is() -> None:
    verdict = held_to(written(), NO_UNDO_LOG)
    assert ids(verdict) == ["FLOWX1044", "FLOWX1044"]
    assert [finding.id for finding in verdict.known] == ["FLOWX1012", "FLOWX1043"]
    assert verdict.stale == ()


def test_what_safety_rules_find_is_not_written() -> None:
    entries = json.loads(written())["findings"]
    assert [entry["id"] for entry in entries] == ["FLOWX1012", "FLOWX1043"]
    assert {entry["file"] for entry in entries} == {"flows.py"}


def test_a_new_finding_is_reported() -> None:
    assert "FLOWX1043" in ids(held_to(written(), NO_UNDO_LOG.replace('timeout="PT1H"', 'timeout="PT1S"')))


def test_a_known_finding_that_has_moved_is_still_known() -> None:
    moved = NO_UNDO_LOG.replace('"""Flows."""\n', '"""Flows."""\n\n# a\n# b\n')
    verdict = held_to(written(), moved)
    assert ids(verdict) == ["FLOWX1044", "FLOWX1044"]
    assert verdict.stale == ()


def test_a_fixed_finding_is_a_stale_entry() -> None:
    verdict = held_to(written(), NO_UNDO_LOG.replace('timeout="PT1S"', 'timeout="PT1H"'))
    assert [entry.id for entry in verdict.stale] == ["FLOWX1043"]


def test_a_suppressed_finding_needs_no_entry() -> None:
    verdict = held_to(written(), FLOWS)
    assert [entry.id for entry in verdict.stale] == ["FLOWX1012"]


def test_an_entry_of_a_rule_that_did_not_run_is_not_stale() -> None:
    fixed = NO_UNDO_LOG.replace('timeout="PT1S"', 'timeout="PT1H"')
    assert held_to(written(), fixed, selection(ignore=["FLOWX1043"])).stale == ()


def test_an_entry_of_a_file_that_was_not_looked_at_is_not_stale_and_of_one_that_is_gone_is() -> None:
    baseline = written().replace('"flows.py"', '"other.py"').replace('"fingerprint": "', '"fingerprint": "0')
    assert held_to(baseline, NO_UNDO_LOG).stale == ()
    assert len(held_to(baseline, NO_UNDO_LOG, gone=frozenset({"other.py"})).stale) == 2


def test_writing_twice_gives_the_same_bytes_and_what_was_known_stays() -> None:
    program = program_of(NO_UNDO_LOG)
    verdict = held_to(written(), NO_UNDO_LOG)
    assert render_baseline(program, verdict, EVERYTHING) == written() == written()


def test_files_are_named_from_the_project_root() -> None:
    entries = parse_baseline(written(selected=Selection(prefix="../app/src")), "known.json")
    assert {entry.file for entry in entries} == {"../app/src/flows.py"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"version": 2, "findings": []}',
        '{"version": 1}',
        '{"version": 1, "findings": [{"id": "FLOWX1012"}]}',
        '{"version": 1, "findings": [{"fingerprint": 1, "id": "FLOWX1012", "file": "a", "message": "b"}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_baseline_is_a_usage_problem_that_says_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageProblem, match=r"flowx check --write-baseline known\.json"):
        parse_baseline(text, "known.json")


def test_a_baseline_that_hides_a_safety_rule_is_a_usage_problem() -> None:
    entry = {"fingerprint": "a", "id": "FLOWX1044", "file": "a.py", "message": "b"}
    with pytest.raises(UsageProblem, match="FLOWX1044"):
        parse_baseline(json.dumps({"version": 1, "findings": [entry]}), "known.json")


def test_an_entry_of_a_rule_that_is_gone_is_stale() -> None:
    entry = KnownFinding("a", "FLOWX1999", "flows.py", "b")
    program = program_of(FLOWS)
    assert apply_baseline(program, judge(program), [entry], EVERYTHING).stale == (entry,)
