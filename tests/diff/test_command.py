"""`flowx diff OLD NEW`: exit codes, formats, and sentences for what cannot be compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.diff.cases import FIRES
from tests.diff.conftest import Flowx
from tests.diff.sample import Document, add_field, bump, edited, flow, sample

ROOT = Path(__file__).parents[2]
Documents = Callable[..., tuple[str, str]]
SCHEMA = json.loads((ROOT / "schemas" / "flowx.diff.schema.json").read_text("utf-8"))
BREAKING = edited(lambda document: document["flows"].pop())
ADDITIVE = edited(lambda document: add_field(document, "Mail", "subject", {"type": "string"}))
NEUTRAL = edited(lambda document: bump(document, "1.2.0"))


@pytest.mark.parametrize(
    ("new", "fail_on", "code"),
    [
        (BREAKING, "breaking", 1),
        (BREAKING, "additive", 1),
        (BREAKING, "neutral", 1),
        (ADDITIVE, "breaking", 0),
        (ADDITIVE, "additive", 1),
        (ADDITIVE, "neutral", 1),
        (NEUTRAL, "breaking", 0),
        (NEUTRAL, "additive", 0),
        (NEUTRAL, "neutral", 1),
    ],
)
@pytest.mark.parametrize("format_", ["text", "json", "markdown", "github"])
def test_f18_fail_on_chooses_the_level_and_changes_no_verdict(
    flowx: Flowx, documents: Documents, new: Document, fail_on: str, code: int, format_: str
) -> None:
    files = documents(sample(), new)
    ran = flowx(*files, "--fail-on", fail_on, "--format", format_)
    assert ran.code == code
    if format_ == "json":
        strict, usual = json.loads(ran.out), json.loads(flowx(*files, "--format", "json").out)
        assert strict["findings"] == usual["findings"]
        assert strict["compatible"] == usual["compatible"]
    else:
        assert ran.out == flowx(*files, "--format", format_).out


def test_f11_the_same_document_twice(flowx: Flowx, documents: Documents) -> None:
    files = documents(sample(), sample())
    ran = flowx(*files)
    assert ran.code == 0
    assert "baseline and candidate are the same document" in ran.out
    asked = flowx(*files, "--require-different")
    assert asked.code == 2
    assert "same document" in asked.err
    other = documents(sample(), edited(lambda document: flow(document).update(owner="others")))
    assert flowx(*other, "--require-different").code == 2, "what is compared is the same, whatever else is written"


def test_nothing_changed_says_so(flowx: Flowx, documents: Documents) -> None:
    files = documents(sample(), edited(lambda document: document["application"].update(version="2.0.0")))
    ran = flowx(*files)
    assert ran.code == 0
    assert "nothing changed" in ran.out
    assert "1.0.0 -> 2.0.0" in ran.out
    assert ran.out.endswith("0 breaking, 0 additive, 0 neutral: compatible.\n")


def test_every_finding_is_in_every_format(flowx: Flowx, documents: Documents) -> None:
    for case in FIRES[:: max(1, len(FIRES) // 12)]:
        files = documents(sample(), edited(case.edit))
        shown = json.loads(flowx(*files, "--format", "json").out)
        jsonschema.validate(shown, SCHEMA)
        assert [finding["code"][-3:] for finding in shown["findings"]] == [code for code, _ in case.told]
        text, markdown, github = (flowx(*files, "--format", name).out for name in ("text", "markdown", "github"))
        for finding in shown["findings"]:
            assert f"  {finding['code']} {finding['subject']}\n" in text
            assert markdown.count(f"| {finding['code']} |") == text.count(f"  {finding['code']} ")
            assert f"title={finding['code']}" in github
            for words in (finding["hurts"], finding["advice"]):
                assert words in text
                assert words in github


def test_a_table_cannot_be_broken_from_a_manifest(flowx: Flowx, documents: Documents) -> None:
    new = edited(lambda document: add_field(document, "Mail", "x|y`<b>@me\n #1", {"type": "string"}))
    lines = flowx(*documents(sample(), new), "--format", "markdown").out.splitlines()
    (row,) = [line for line in lines if "| FLOWX-DIFF-110 |" in line]
    assert "x\\|y\\`\\<b\\>@<!-- -->me\\\\n #<!-- -->1" in row
    assert row.replace("\\|", "").count("|") == 7


def test_annotations_stay_below_what_is_shown(flowx: Flowx, documents: Documents) -> None:
    new = sample()
    for number in range(25):
        add_field(new, "Mail", f"x{number:02}", {"type": "string"}, required=True)
        add_field(new, "Status", f"x{number:02}", {"type": "string"})
    out = flowx(*documents(sample(), new), "--format", "github").out.splitlines()
    for level in ("error", "notice"):
        shown = [line for line in out if line.startswith(f"::{level} ")]
        assert len(shown) == 10
        assert "and 16 more" in shown[-1]
    assert "line=" not in "".join(out)


def test_e05_the_summary_of_the_step_shows_all_whatever_the_annotations_have_room_for(
    flowx: Flowx, documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = sample()
    for number in range(25):
        add_field(new, "Mail", f"x{number:02}", {"type": "string"}, required=True)
    files = documents(sample(), new)
    (tmp_path / "summary.md").write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert "summary of this step shows all" in flowx(*files, "--format", "github").out
    shown = (tmp_path / "summary.md").read_text("utf-8")
    assert shown.startswith("before\n### Contract of shop: **INCOMPATIBLE**\n")
    assert shown.count("| FLOWX-DIFF-030 |") == 25
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert shown == "before\n" + flowx(*files, "--format", "markdown").out


def test_output_writes_a_file_and_keeps_the_exit_code(flowx: Flowx, documents: Documents, tmp_path: Path) -> None:
    files = documents(sample(), BREAKING)
    ran = flowx(*files, "--output", "made/for/it.txt")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("wrote ")
    assert (tmp_path / "made" / "for" / "it.txt").read_text("utf-8") == flowx(*files).out


VALID = json.dumps(sample())
UNREADABLE: dict[str, tuple[str | bytes, str]] = {
    "malformed": ("{'flows': 1}", "is not JSON at line 1, column 2"),
    "truncated": (VALID[: len(VALID) // 2], "ends in the middle"),
    "empty": ("", "ends in the middle"),
    "foreign": ('{"openapi": "3.1.0", "paths": {}}', "is JSON but not a flowx manifest"),
    "a list": ("[]", "is JSON but not a flowx manifest"),
    "null": ("null", "is JSON but not a flowx manifest"),
    "newer major": (VALID.replace('"schemaVersion": "1.0.0"', '"schemaVersion": "2.0.0"', 1), "newer than the 1.x"),
    "no version": (VALID.replace('"schemaVersion": "1.0.0"', '"schemaVersion": "x"', 1), "which is no version"),
    "no flows": ('{"schemaVersion": "1.0.0"}', "it has no `flows`"),
    "flows are text": ('{"schemaVersion": "1.0.0", "flows": "x", "capabilities": []}', "`flows` is not a list"),
    "a flow is text": ('{"schemaVersion": "1.0.0", "flows": ["x"], "capabilities": []}', "an entry of `flows`"),
    "binary": (b"\xff\xfe\x00", "is not UTF-8"),
    "deep": ('{"schemaVersion": "1.0.0", "flows": ' + "[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_not_a_manifest_is_one_sentence(flowx: Flowx, documents: Documents, kind: str, side: str) -> None:
    text, sentence = UNREADABLE[kind]
    ran = flowx(*(documents(text, sample()) if side == "old" else documents(sample(), text)))
    assert ran.code == 2
    assert ran.out == ""
    assert sentence in ran.err
    assert ran.err.startswith(f"flowx: {side}.json ")
    assert ran.err.count("\n") == 1


@pytest.mark.usefixtures("usual_recursion")
def test_a_contract_nested_too_deeply_is_one_sentence(flowx: Flowx, documents: Documents) -> None:
    new = sample()
    shape: Any = {"type": "string"}
    for _ in range(400):
        shape = {"type": "array", "items": shape}
    new["contracts"]["shop.Mail"] = shape
    ran = flowx(*documents(sample(), new))
    assert (ran.code, ran.err) == (2, "flowx: a contract is nested too deeply to be compared\n")


def test_a_missing_file_says_which_side(flowx: Flowx, documents: Documents) -> None:
    old, new = documents(sample(), sample())
    for files, sentence in ((("no.json", new), "the baseline no.json"), ((old, "no.json"), "the candidate no.json")):
        ran = flowx(*files)
        assert ran.code == 3
        assert f"{sentence} does not exist" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("old.json",),
        ("old.json", "new.json", "third.json"),
        ("old.json", "new.json", "--against", "main"),
        ("old.json", "new.json", "--exact"),
        ("old.json", "new.json", "--manifest", "x"),
        ("old.json", "new.json", "--format", "xml"),
        ("old.json", "new.json", "--fail-on", "none"),
        ("old.json", "new.json", "--waiver", "x"),
        (".", "new.json"),
    ],
    ids=" ".join,
)
def test_a_wrong_call(flowx: Flowx, documents: Documents, arguments: tuple[str, ...]) -> None:
    documents(sample(), sample())
    ran = flowx(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_a_byte_order_mark_is_no_difference(flowx: Flowx, documents: Documents) -> None:
    ran = flowx(*documents(VALID, b"\xef\xbb\xbf" + VALID.encode()))
    assert ran.code == 0
    assert "same document" in ran.out


def test_fields_of_a_newer_minor_are_skipped(flowx: Flowx, documents: Documents) -> None:
    new = sample() | {"schemaVersion": "1.9.0", "novelty": [1]}
    flow(new)["novelty"] = {"deep": None}
    assert "nothing changed" in flowx(*documents(sample(), new)).out


def test_empty_manifests_are_compatible(flowx: Flowx, documents: Documents) -> None:
    empty = {"schemaVersion": "1.0.0", "flows": [], "capabilities": []}
    ran = flowx(*documents(empty, {**empty, "extensions": {"a": 1}}))
    assert ran.code == 0
    assert ran.out.startswith("unknown\n")


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_comparing_imports_nothing_heavy(documents: Documents, tmp_path: Path) -> None:
    documents(sample(), BREAKING)
    heavy = ("libcst", "pydantic", "psycopg", "jsonschema", "asyncio", "flowx_runtime", "flowx_compiler.model")
    script = (
        "import sys\nfrom flowx_cli.__main__ import main\n"
        "try:\n    main(['diff', 'old.json', 'new.json'])\n"
        f"finally:\n    print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    ran = run("-c", script, cwd=tmp_path)
    assert (ran.returncode, ran.stderr.strip()) == (1, "[]")


@pytest.mark.slow  # twenty interpreters, because only a new one has another hash seed
def test_c07_a_recursive_contract_gives_the_same_bytes_under_every_hash_seed(
    documents: Documents, tmp_path: Path
) -> None:
    def tree(limit: int) -> Document:
        document = sample()
        branches: list[Any] = [{"$ref": f"#/contracts/shop.{name}"} for name in ("Tree", "Line", "Mail", "Address")]
        document["contracts"]["shop.Tree"] = {
            "type": "object",
            "properties": {
                name: {"anyOf": [*branches, {"type": "integer", "maximum": limit}, {"enum": ["a", str(limit)]}]}
                for name in ("left", "right")
            },
            "required": [],
        }
        add_field(document, "Line", "tree", {"$ref": "#/contracts/shop.Tree"})
        document["contracts"]["shop.Mail"]["properties"]["body"]["maxLength"] = limit
        return document

    files = documents(tree(5), tree(4))
    seen = {run("-m", "flowx_cli", "diff", *files, cwd=tmp_path, PYTHONHASHSEED=str(seed)).stdout for seed in range(20)}
    assert len(seen) == 1
    assert "shop.Tree.left" in seen.pop()
