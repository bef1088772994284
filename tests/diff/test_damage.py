"""Whatever is given as a manifest, the answer is a verdict or one sentence with exit 2, never a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_compiler.diff.compare import compare
from flowx_compiler.diff.errors import NotAManifest
from flowx_compiler.diff.reading import read_manifest
from flowx_compiler.diff.report.github import render_github
from flowx_compiler.diff.report.json import render_json
from flowx_compiler.diff.report.markdown import render_markdown
from flowx_compiler.diff.report.text import render_text
from flowx_compiler.diff.rule import Verdict
from tests.diff.conftest import Flowx
from tests.diff.sample import Document, edited, sample

Documents = Callable[..., tuple[str, str]]
VALID = json.dumps(sample())
START = VALID.index('"flows"')
DAMAGED: dict[str, tuple[str | bytes, str]] = {
    "a key twice": (VALID.replace('"id": "order.place"', '"id": "a.b", "id": "order.place"', 1), "the key 'id' twice"),
    "a contract twice": (
        VALID.replace('"shop.Mail": {', '"shop.Mail": {}, "shop.Mail": {', 1),
        "the key 'shop.Mail' twice",
    ),
    "NaN": (VALID.replace('"minimum": 1', '"minimum": NaN', 1), "holds NaN, which is not JSON"),
    "Infinity": (VALID.replace('"minimum": 1', '"minimum": -Infinity', 1), "holds -Infinity, which is not JSON"),
    "a number beyond all numbers": (VALID.replace('"minimum": 1', '"minimum": 1e999', 1), "too large to compare"),
    "a number nobody reads": (
        VALID.replace('"minimum": 1', f'"minimum": {"9" * 100_000}', 1),
        "a number too long to be read",
    ),
    "a schema version nobody counts to": (
        VALID.replace('"schemaVersion": "1.0.0"', f'"schemaVersion": "{"9" * 100_000}.0.0"', 1),
        "which is no version",
    ),
    "a version nobody counts to": (
        VALID.replace('"version": "1.1.0"', f'"version": "1.{"9" * 100_000}.0"', 1),
        "`version` is not a version",
    ),
    "UTF-16": (VALID.encode("utf-16"), "is not UTF-8"),
    "UTF-16 without a mark": (VALID.encode("utf-16-le"), "is not JSON at line 1, column 2"),
    "UTF-32": (VALID.encode("utf-32"), "is not UTF-8"),
    "a mark and nothing else": (b"\xef\xbb\xbf", "ends in the middle"),
    "two documents": (VALID + VALID, "is not JSON at line 1"),
    "a document and rubbish": (VALID + "}", "is not JSON at line 1"),
    "a comment": ("// mine\n" + VALID, "is not JSON at line 1, column 1"),
    "a comma too many": (VALID.replace('"flows": [', '"flows": [,', 1), "is not JSON"),
    "a pointer of git lfs": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "is not JSON at line 1"),
    "a merge": (f"<<<<<<< HEAD\n{VALID}\n=======\n{VALID}\n>>>>>>> mine\n", "is not JSON at line 1, column 1"),
    "a diagnostic report": ('{"version": 1, "findings": [], "flows": 1}', "it has no schemaVersion"),
    "deep objects": ('{"schemaVersion": "1.0.0", "contracts": ' + '{"a":' * 100_000, "nested too deeply"),
    "steps in steps": (
        VALID.replace('"steps": [', '"steps": [' + '{"id": 1, "branches": [[' * 3000 + "]]}" * 3000 + ",", 1),
        "nested too deeply",
    ),
    "branches are text": (VALID.replace('"branches": [', '"branches": ["x", ', 1), "`branches` is not a list of lists"),
    "an id is a number": (VALID.replace('"id": "order.place"', '"id": 7', 1), "`id` is not a text"),
    "idempotent is text": (VALID.replace('"idempotent": true', '"idempotent": "yes"', 1), "is not true or false"),
}


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_one_sentence(flowx: Flowx, documents: Documents, kind: str, side: str) -> None:
    text, sentence = DAMAGED[kind]
    assert text != VALID
    ran = flowx(*(documents(text, sample()) if side == "old" else documents(sample(), text)))
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.startswith(f"flowx: {side}.json ")
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 300


def test_a_folder_is_one_sentence(flowx: Flowx, documents: Documents) -> None:
    documents(sample(), sample())
    ran = flowx("old.json", ".")
    assert (ran.code, ran.err) == (2, "flowx: the candidate . cannot be read: Is a directory\n")


def test_a_file_that_cannot_be_read_is_one_sentence(flowx: Flowx, documents: Documents, tmp_path: Path) -> None:
    documents(sample(), sample())
    # A circle of links cannot be read by anybody, also not by the superuser that tests may run as.
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    ran = flowx("a.json", "new.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("flowx: the baseline a.json cannot be read: ")
    assert ran.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_a_file_without_permission_is_one_sentence(flowx: Flowx, documents: Documents, tmp_path: Path) -> None:
    documents(sample(), sample())
    (tmp_path / "old.json").chmod(0)
    ran = flowx("old.json", "new.json")
    assert (ran.code, ran.err) == (2, "flowx: the baseline old.json cannot be read: Permission denied\n")


def test_a_report_that_cannot_be_written_is_one_sentence(flowx: Flowx, documents: Documents) -> None:
    ran = flowx(*documents(sample(), sample()), "--output", "old.json/report.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("flowx: old.json/report.txt cannot be written: ")
    assert ran.err.count("\n") == 1


HOSTILE = "a\x1b[2Jb\ncompatible.\r::error::x \ud800 \u202e"


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "github"])
def test_a_name_can_neither_begin_a_line_nor_move_the_cursor(
    flowx: Flowx, documents: Documents, format_: str, tmp_path: Path
) -> None:
    def rename(document: Document) -> None:
        document["capabilities"][0]["id"] = HOSTILE
        document["signals"][0]["contract"]["type"] = HOSTILE

    files = documents(sample(), edited(rename))
    for out in (
        flowx(*files, "--format", format_).out,
        flowx(*files, "--format", format_, "--output", "x").err and (tmp_path / "x").read_text("utf-8"),
    ):
        assert "\x1b" not in out
        assert "\r" not in out
        assert not any(line.startswith(("compatible.", "::error::x")) for line in out.splitlines())


def refusal(old: Document | str, new: Document | str) -> str:
    """The sentence that refuses one of the two; empty when they were compared and shown in every format."""
    texts = (side if isinstance(side, str) else json.dumps(side) for side in (old, new))
    try:
        before, after = (read_manifest(text, "x") for text in texts)
    except NotAManifest as refused:
        return str(refused)
    report = compare(before, after)
    for text in (render_text(report), render_markdown(report), render_github(report)):
        assert text
    json.loads(render_json(report, Verdict.BREAKING))
    return ""


@given(st.integers(0, len(VALID)), st.integers(0, 40), st.text(alphabet='{}[]",:0129nulte\\ \x00é', max_size=6))
@settings(max_examples=200)
def test_any_cut_and_any_insertion_is_refused_or_compared(at: int, length: int, inserted: str) -> None:
    damaged = VALID[:at] + inserted + VALID[at + length :]
    for old, new in ((damaged, VALID), (VALID, damaged)):
        assert "\n" not in refusal(old, new)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        return found + [place for name in value for place in places(value[name], (*path, name))]
    if isinstance(value, list):
        return found + [place for number, item in enumerate(value) for place in places(item, (*path, number))]
    return found


PLACES = [path for path in places(sample()) if path]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), junk), min_size=1, max_size=3))
@settings(max_examples=200)
def test_anything_in_any_place_is_refused_or_compared(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = sample()
    for path, value in changes:
        target: Any = document
        try:
            for part in path[:-1]:
                target = target[part]
            target[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    for old, new in ((document, sample()), (sample(), document)):
        assert "\n" not in refusal(old, new)
