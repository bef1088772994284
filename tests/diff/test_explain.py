"""`flowx explain` of a code of `flowx diff`."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowx_cli.__main__ import main
from flowx_compiler.diff.registry import rules
from flowx_compiler.diff.rule import Rule

DOCS = Path(__file__).parents[2] / "docs" / "diff"


def explain(wanted: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        main(["explain", wanted])
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_every_code_is_explained_by_its_page(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    code = rule.code
    page = (DOCS / f"{code}.md").read_text("utf-8")
    assert explain(code, capsys) == (0, page, "")
    assert "## What to do" in page


@pytest.mark.parametrize("spelling", ["flowx-diff-040", "FLOWX_DIFF_040", "FlowxDiff040", "DIFF-040", "040", " 040 "])
def test_a_code_is_known_in_other_spellings(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = explain(spelling, capsys)
    assert code == 0
    assert out.startswith("# FLOWX-DIFF-040: ")


@pytest.mark.parametrize(
    ("wanted", "suggested"),
    [
        ("FLOWX-DIFF-042", "FLOWX-DIFF-04"),
        ("FLOWX-DIF-040", "FLOWX-DIFF-040"),
        ("FLOWX-DIFF-40", "FLOWX-DIFF-040"),
        ("FLWX1044", "FLOWX1044"),
        ("FLOWX10444", "FLOWX1044"),
        ("FLOWX9044", "FLOWX1044"),
    ],
)
def test_a_mistyped_code_is_answered_with_what_may_have_been_meant(
    wanted: str, suggested: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = explain(wanted, capsys)
    assert (code, out) == (3, "")
    assert err.startswith(f"flowx: there is no rule '{wanted}': did you mean ")
    assert suggested in err
    assert err.count("\n") == 1


def test_what_resembles_no_code_is_told_where_codes_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explain("everything", capsys)
    assert (code, out) == (3, "")
    assert err == "flowx: there is no rule 'everything'; `flowx check` and `flowx diff` name the rules they report\n"
