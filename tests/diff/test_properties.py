"""What holds between any two manifests."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_compiler.diff.contracts import Contracts
from flowx_compiler.diff.registry import rules
from tests.diff.cases import FIRES, SILENT, Fires, Silent
from tests.diff.sample import Document, findings, report, sample, told

BY_CODE = {rule.code: rule for rule in rules()}
CASES = [case for case in (*FIRES, *SILENT) if "renamed" not in case.name]
"""A renamed contract is told under its old name, which is the new one on the way back."""
ORDERED = {"steps", "branches", "prefixItems"}
"""Lists whose order says something."""


def apply(cases: list[Fires | Silent]) -> Document:
    """The sample after those edits that still find what they change."""
    document = sample()
    for case in cases:
        attempt = json.loads(json.dumps(document))
        try:
            case.edit(attempt)
        except (KeyError, ValueError, StopIteration, AssertionError, IndexError, AttributeError):
            continue
        document = attempt
    return document


edits = st.lists(st.sampled_from(CASES), max_size=6).map(apply)


def shuffled(value: Any, random: Random, key: str = "") -> Any:
    """The same document with every set in another order, and every object too."""
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {name: shuffled(value[name], random, name) for name in names}
    if isinstance(value, list):
        items = [shuffled(item, random, key) for item in value]
        if key not in ORDERED:
            random.shuffle(items)
        return items
    return value


@given(edits)
@settings(max_examples=40)
def test_a_manifest_against_itself_is_silent(document: Document) -> None:
    found = report(document, document)
    assert found.findings == ()
    assert found.is_same_document


@given(edits, edits)
@settings(max_examples=60)
def test_what_is_told_one_way_is_told_by_the_mirror_the_other_way(old: Document, new: Document) -> None:
    back = {(finding.code, finding.subject) for finding in findings(new, old)}
    for finding in findings(old, new):
        rule = BY_CODE[finding.code]
        mirrors = {(f"FLOWX-DIFF-{number}", finding.subject) for number in rule.mirror}
        assert rule.asymmetry or mirrors & back, f"{finding} undone is told by {sorted(back)}"


@given(edits, edits, st.integers(0, 2**32).map(Random))
@settings(max_examples=40)
def test_the_order_of_sets_says_nothing(old: Document, new: Document, random: Random) -> None:
    assert findings(shuffled(old, random), shuffled(new, random)) == findings(old, new)
    assert report(old, shuffled(old, random)).findings == ()


@given(edits, edits, st.dictionaries(st.text(max_size=5), st.integers()))
@settings(max_examples=40)
def test_extensions_say_nothing(old: Document, new: Document, extensions: dict[str, int]) -> None:
    assert told({**old, "extensions": extensions}, new) == told(old, new)


@given(edits, edits)
@settings(max_examples=40)
def test_findings_are_in_order_and_told_once(old: Document, new: Document) -> None:
    found = findings(old, new)
    keys = [(finding.verdict.rank, finding.code, finding.subject) for finding in found]
    assert keys == sorted(keys)
    assert len(set(found)) == len(found)


shapes = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "string"},
            {"type": "string", "maxLength": 5},
            {"type": "string", "format": "date"},
            {"type": "integer"},
            {"type": "integer", "minimum": 1},
            {"type": "number"},
            {"type": "null"},
            {"enum": ["a", "b"]},
            {"enum": ["a", "b", "c"]},
            {"$ref": "#/contracts/shop.Line"},
            {"$ref": "#/contracts/shop.Address"},
            {"x-flowx-opaque": "why"},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item}),
        inner.map(lambda value: {"type": "object", "additionalProperties": value}),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: {"anyOf": parts}),
        st.tuples(inner, st.booleans()).map(
            lambda made: {"type": "object", "properties": {"x": made[0]}, "required": ["x"] if made[1] else []}
        ),
    ),
    max_leaves=5,
)


def _with(shape: Document, place: str) -> Document:
    document = sample()
    document["contracts"][f"shop.{place}"]["properties"]["changing"] = shape
    return document


@given(shapes, shapes, st.sampled_from(["Mail", "OrderResult", "Address"]))
@settings(max_examples=100)
def test_any_two_shapes_compare_and_pair_up(old: Document, new: Document, place: str) -> None:
    before, after = _with(old, place), _with(new, place)
    assert findings(before, before) == []
    back = {(finding.code, finding.subject) for finding in findings(after, before)}
    for finding in findings(before, after):
        mirrors = {(f"FLOWX-DIFF-{number}", finding.subject) for number in BY_CODE[finding.code].mirror}
        assert mirrors & back, f"{finding} undone is told by {sorted(back)}"


words = st.sampled_from(
    ["type", "anyOf", "properties", "required", "items", "enum", "$ref", "minimum", "maxLength", "additionalProperties"]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "object", "shop.Line", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(junk, junk)
@settings(max_examples=150)
def test_what_is_no_schema_is_compared_as_it_stands(old: Any, new: Any) -> None:
    before, after = sample(), sample()
    before["contracts"]["shop.Mail"], after["contracts"]["shop.Mail"] = old, new
    assert findings(before, before) == []
    assert bool(findings(before, after)) == bool(findings(after, before))


@given(st.one_of(shapes, junk, junk.map(lambda value: {"type": "object", "properties": {"x": value}})))
@settings(max_examples=300)
def test_what_stands_word_for_word_is_spared_the_comparison_and_leads_to_the_same_contracts(schema: Any) -> None:
    contracts = Contracts({"shop.X": schema}, {"shop.X": schema})
    spared = contracts._unchanged("shop.X", "shop.X")
    compared = contracts._compared("shop.X", "shop.X")
    assert compared.differences == ()
    assert spared is None or (set(spared.leads_to), spared.is_uncompared) == (set(compared.leads_to), False)
    assert spared is None or not compared.is_uncompared


def test_usual_contracts_are_spared_and_what_python_takes_for_equal_is_not() -> None:
    plain = sample()["contracts"]
    contracts = Contracts(plain, plain)
    assert all(contracts._unchanged(name, name) is not None for name in plain)
    for old, new in ((1, True), (1, 1.0), (0, False)):
        pair = Contracts({"x": {"enum": [old]}}, {"x": {"enum": [new]}})
        assert pair.old == pair.new
        assert pair._unchanged("x", "x") is None
