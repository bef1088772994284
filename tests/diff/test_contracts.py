"""Contracts by shape and by side. A number in a name is that of an acceptance case."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowx_compiler.diff.compare import compare
from flowx_compiler.diff.comparison import pair_up
from flowx_compiler.diff.contracts import Contracts
from flowx_compiler.diff.normalise import normalise
from flowx_compiler.diff.reading import read_manifest
from tests.contracts.test_corpus import contracts as contracts_of_the_corpus
from tests.diff.sample import Document, findings, report, sample, told

ROOT = Path(__file__).parents[2]
TEXT = {"type": "string"}
NULL = {"type": "null"}
ENUM = {"enum": ["a", "b"]}
INPUT, OUTPUT = "Mail", "Status"
"""A contract that is only accepted, and one that is only produced."""


def holding(contract: str, shape: Any, *, required: bool = True, **frame: Any) -> Document:
    """The sample with one more field in a contract."""
    document = sample()
    target = document["contracts"][f"shop.{contract}"]
    target["properties"]["x"] = shape
    target |= frame
    if required:
        target["required"].append("x")
    return document


def without(contract: str, **frame: Any) -> Document:
    document = sample()
    document["contracts"][f"shop.{contract}"] |= frame
    return document


def change(contract: str, old: Any, new: Any) -> list[str]:
    """The numbers that tell of one field's change, each about that field."""
    found = told(holding(contract, old), holding(contract, new))
    assert all(subject.startswith(f"contract shop.{contract}.x") for _, subject in found)
    return [number for number, _ in found]


@pytest.mark.parametrize(
    ("contract", "old", "new", "number"),
    [
        (OUTPUT, TEXT, {"anyOf": [TEXT, NULL]}, "034"),
        (OUTPUT, {"anyOf": [TEXT, NULL]}, TEXT, "114"),
        (INPUT, TEXT, {"anyOf": [TEXT, NULL]}, "112"),
        (INPUT, {"anyOf": [TEXT, NULL]}, TEXT, "032"),
    ],
)
def test_f01_null_gained_and_lost_on_both_sides(contract: str, old: Any, new: Any, number: str) -> None:
    assert change(contract, old, new) == [number]


@pytest.mark.parametrize(
    "nullable",
    [
        {"anyOf": [ENUM, NULL]},
        {"oneOf": [NULL, ENUM]},
        {"enum": ["a", "b", None]},
        {"anyOf": [{"const": "a"}, {"const": "b"}, NULL]},
        {"anyOf": [{"anyOf": [ENUM, NULL]}, NULL], "default": None, "title": "X"},
    ],
)
def test_f02_an_enum_that_may_be_null_is_one_finding_in_every_spelling(nullable: Any) -> None:
    assert change(INPUT, ENUM, nullable) == ["112"]
    assert change(OUTPUT, ENUM, nullable) == ["034"]
    assert change(INPUT, {"anyOf": [NULL, ENUM]}, nullable) == []


def test_f02_a_list_of_types_is_a_union() -> None:
    union = {"anyOf": [{"type": "string", "maxLength": 3}, NULL]}
    assert change(INPUT, union, {"type": ["null", "string"], "maxLength": 3}) == []


F03 = {
    ("in", "required", "added"): "030",
    ("in", "optional", "added"): "110",
    ("in", "required", "removed"): "031",
    ("in", "optional", "removed"): "031",
    ("out", "required", "added"): "111",
    ("out", "optional", "added"): "111",
    ("out", "required", "removed"): "033",
    ("out", "optional", "removed"): "033",
}


@pytest.mark.parametrize("frame", [{}, {"additionalProperties": False}], ids=["open", "extra=forbid"])
@pytest.mark.parametrize("cell", F03, ids=" ".join)
def test_f03_every_cell_of_field_added_and_removed(cell: tuple[str, str, str], frame: Document) -> None:
    side, presence, what = cell
    contract = INPUT if side == "in" else OUTPUT
    has = holding(contract, TEXT, required=presence == "required", **frame)
    lacks = without(contract, **frame)
    old, new = (lacks, has) if what == "added" else (has, lacks)
    assert told(old, new) == [(F03[cell], f"contract shop.{contract}.x")]


@pytest.mark.parametrize(
    ("contract", "was", "number"),
    [(INPUT, True, "112"), (INPUT, False, "030"), (OUTPUT, True, "034"), (OUTPUT, False, "114")],
)
def test_f04_required_and_optional_in_both_directions(contract: str, *, was: bool, number: str) -> None:
    old, new = holding(contract, TEXT, required=was), holding(contract, TEXT, required=not was)
    assert told(old, new) == [(number, f"contract shop.{contract}.x")]


def test_f05_a_new_input_field_with_a_default_is_additive_and_says_whose_default_it_is() -> None:
    old, new = without(INPUT), holding(INPUT, {**TEXT, "default": "x"}, required=False)
    (finding,) = findings(old, new)
    assert finding.code == "FLOWX-DIFF-110"
    assert "default" in finding.advice


F07: dict[str, Callable[[Any], Any]] = {
    "plain": lambda inner: inner,
    "list": lambda inner: {"type": "array", "items": inner},
    "tuple": lambda inner: {"type": "array", "prefixItems": [TEXT, inner], "items": False},
    "dict": lambda inner: {"type": "object", "additionalProperties": inner},
    "optional": lambda inner: {"anyOf": [inner, NULL]},
    "union": lambda inner: {"anyOf": [inner, {"type": "boolean"}]},
    "model": lambda inner: {"type": "object", "properties": {"y": inner}, "required": ["y"]},
    "discriminated": lambda inner: {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "y": inner}, "required": ["kind"]},
            {"type": "boolean"},
        ],
        "discriminator": {"propertyName": "kind"},
    },
    "own definition": lambda inner: {"$ref": "#/$defs/Inner"},
}
CHANGES = [
    (ENUM, {"enum": ["a"]}),
    ({"enum": ["a"]}, ENUM),
    ({"type": "integer"}, {"type": "number"}),
    ({"type": "integer"}, {"type": "string"}),
    ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 4}),
    ({"type": "number", "minimum": 3}, {"type": "number", "exclusiveMinimum": 3}),
]


def wrapped(contract: str, shape: Any, path: tuple[str, ...]) -> Document:
    inner = shape
    for name in path:
        inner = F07[name](inner)
    document = holding(contract, inner)
    if "own definition" in path:
        reached = shape
        for name in path[: path.index("own definition")]:
            reached = F07[name](reached)
        document["contracts"][f"shop.{contract}"]["$defs"] = {"Inner": reached}
    return document


@pytest.mark.parametrize("contract", [INPUT, OUTPUT])
@pytest.mark.parametrize("wrap", F07)
def test_f07_a_change_is_judged_the_same_wherever_it_is(contract: str, wrap: str) -> None:
    for old, new in CHANGES:
        plain = {number for number, _ in told(holding(contract, old), holding(contract, new))}
        found = told(wrapped(contract, old, (wrap,)), wrapped(contract, new, (wrap,)))
        assert {number for number, _ in found} == plain, (old, new)
        assert len(found) == 1


def test_f15_a_change_is_judged_the_same_three_levels_down() -> None:
    wraps = [name for name in F07 if name not in ("plain", "own definition", "union")]
    for path in itertools.permutations(wraps, 3):
        for old, new in CHANGES[:1]:
            plain = {number for number, _ in told(holding(INPUT, old), holding(INPUT, new))}
            found = told(wrapped(INPUT, old, path), wrapped(INPUT, new, path))
            assert {number for number, _ in found} == plain, path


def test_a_recursive_contract_ends_and_is_compared_once() -> None:
    def tree(limit: int) -> Document:
        document = sample()
        document["contracts"]["shop.Tree"] = {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "maximum": limit},
                "children": {"type": "array", "items": {"$ref": "#/contracts/shop.Forest"}},
            },
            "required": ["size"],
        }
        document["contracts"]["shop.Forest"] = {
            "type": "object",
            "properties": {"trees": {"type": "array", "items": {"$ref": "#/contracts/shop.Tree"}}},
            "required": [],
        }
        document["flows"][1]["input"] = {"type": "shop.Tree"}
        return document

    assert told(tree(5), tree(4)) == [("032", "contract shop.Tree.size")]
    renamed = tree(5)
    text = str(renamed)
    assert "shop.Tree" in text
    forest = renamed["contracts"]
    forest["shop.Oak"] = forest.pop("shop.Tree")
    forest["shop.Forest"]["properties"]["trees"]["items"]["$ref"] = "#/contracts/shop.Oak"
    renamed["flows"][1]["input"] = {"type": "shop.Oak"}
    assert told(tree(5), renamed) == [("210", "contract shop.Tree")]


def chain(length: int, first: str, last: Any) -> Document:
    """A contract that leads to another, and so on, to one with a field of its own."""
    document = sample()
    names = [first, *(f"shop.Link{number}" for number in range(1, length))]
    for name, following in itertools.pairwise(names):
        members = {"next": {"anyOf": [{"$ref": f"#/contracts/{following}"}, {"type": "null"}]}}
        document["contracts"][name] = {"type": "object", "properties": members, "required": []}
    document["contracts"][names[-1]] = {"type": "object", "properties": {"end": last}, "required": []}
    document["flows"][1]["input"] = {"type": first}
    return document


@pytest.mark.usefixtures("usual_recursion")
def test_a_renamed_contract_at_the_head_of_a_long_chain() -> None:
    old = chain(3000, "shop.Head", TEXT)
    assert told(old, chain(3000, "shop.Start", TEXT)) == [("210", "contract shop.Head")]
    assert told(old, chain(3000, "shop.Start", NULL)) == [("002", "flow order.ship@1 input")]
    assert told(old, chain(3000, "shop.Head", {"const": "a"})) == [("032", "contract shop.Link2999.end")]


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ({"type": "string"}, {"type": "string", "format": "date"}, "032"),
        ({"type": "string", "format": "date"}, {"type": "string"}, "112"),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "uuid"}, "032"),
        ({"type": "string"}, {"enum": ["a"]}, "032"),
        ({"enum": ["a"]}, {"type": "string"}, "112"),
        ({"enum": [1]}, {"type": "string"}, "032"),
        ({"type": "integer"}, {}, "112"),
        ({}, {"type": "integer"}, "032"),
        ({"type": "number", "multipleOf": 2}, {"type": "number", "multipleOf": 4}, "032"),
        ({"type": "number", "multipleOf": 4}, {"type": "number", "multipleOf": 2}, "112"),
        ({"type": "number", "multipleOf": 4}, {"type": "number", "multipleOf": 3}, "032"),
        ({"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}, "032"),
        ({"type": "number", "minimum": 1, "maximum": 5}, {"type": "number", "minimum": 0, "maximum": 4}, "032"),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "uniqueItems": True}, "032"),
        ({"anyOf": [TEXT, {"type": "integer"}]}, TEXT, "032"),
        (TEXT, {"anyOf": [TEXT, {"type": "integer"}]}, "112"),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "boolean"}]}, "032"),
        ({"$ref": "#/contracts/shop.Line"}, {"$ref": "#/contracts/shop.Signed"}, "032"),
        ({"not": TEXT}, {"not": NULL}, "032"),
    ],
)
def test_what_an_input_takes(old: Any, new: Any, number: str) -> None:
    assert change(INPUT, old, new) == [number]


def test_words_that_say_nothing_of_shape_are_silent() -> None:
    loud = {**TEXT, "title": "X", "description": "y", "default": "z", "examples": ["q"], "deprecated": True}
    assert change(INPUT, TEXT, loud) == []


def test_a_reference_is_read_in_every_spelling() -> None:
    assert change(INPUT, {"$ref": "#/contracts/shop.Line"}, {"$ref": "shop.Line"}) == []


def test_a_reference_to_a_parametrised_contract_is_followed() -> None:
    def page(limit: int) -> Document:
        document = holding(INPUT, {"$ref": "#/contracts/shop.Page%5Bshop.Line%5D"})
        document["contracts"]["shop.Page[shop.Line]"] = {
            "type": "object",
            "properties": {"size": {"type": "integer", "maximum": limit}},
            "required": [],
        }
        return document

    assert told(page(9), page(8)) == [("032", "contract shop.Page[shop.Line].size")]


def test_every_word_that_can_be_written_is_understood() -> None:
    """Held over the models that derived contracts are held to."""
    described = contracts_of_the_corpus()
    assert len(described) > 100
    assert [name for name, schema in described.items() if "Unknown(" in repr(normalise(schema, name))] == []
    pair = Contracts(described, described)
    assert [name for name in described if pair._compared(name, name).differences] == []


PATTERNED = {"type": "object", "patternProperties": {"^x": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("new", "number"),
    [
        ({"type": "object", "patternProperties": {"^x": {"type": "number"}}}, "112"),
        ({"type": "object", "patternProperties": {"^y": {"type": "integer"}}}, "032"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "112"),
    ],
)
def test_keys_with_a_pattern(new: Any, number: str) -> None:
    found = told(holding(INPUT, PATTERNED), holding(INPUT, new))
    assert {told_number for told_number, _ in found} == {number}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/flowx.manifest.json")), ids=lambda path: path.parent.name
)
def test_every_word_that_is_written_is_understood(path: Path) -> None:
    """A shape that is not understood would be compared as text, and every respelling of it told as a break."""
    for name, schema in json.loads(path.read_text("utf-8"))["contracts"].items():
        assert "Unknown(" not in repr(normalise(schema, name)), name


def test_opaque_on_both_sides_is_silent_and_named() -> None:
    document = sample()
    document["contracts"]["shop.Mail"] = {"x-flowx-opaque": "a base class is not part of the project"}
    found = report(document, document)
    assert found.findings == ()
    assert found.uncompared == ("shop.Mail",)


def test_a_part_that_is_opaque_hides_no_other_part() -> None:
    old = holding(INPUT, {"x-flowx-opaque": "why"})
    new = holding(INPUT, TEXT)
    new["contracts"]["shop.Mail"]["properties"]["body"]["maxLength"] = 3
    assert told(old, new) == [("032", "contract shop.Mail.body"), ("211", "contract shop.Mail.x")]


def test_f12_a_class_moved_to_another_module_is_no_finding() -> None:
    moved = sample()
    moved["capabilities"][0]["source"] = "shop/payment/cards.py:ChargeCard"
    assert told(sample(), moved) == []


def test_f14_a_removed_flow_is_one_finding() -> None:
    new = sample()
    removed = new["flows"].pop(0)
    assert removed["triggers"]
    assert told(sample(), new) == [("001", "flow order.place@1")]


def test_a_mark_behind_two_fields_is_seen_behind_both() -> None:
    """A contract behind two fields is looked at behind both: a new field in front hides no mark."""
    old = sample()
    old["contracts"]["shop.Address"]["properties"]["zip"]["sensitive"] = True
    new = sample()
    new["contracts"]["shop.Address"]["properties"]["zip"]["sensitive"] = True
    new["contracts"]["shop.PlaceOrder"]["properties"]["a_first"] = {"$ref": "#/contracts/shop.Address"}
    assert told(old, new) == [("110", "contract shop.PlaceOrder.a_first")]


def test_500_flows_and_1500_contracts_take_one_comparison_for_each_contract() -> None:
    def large(flows: int, limit: int) -> str:
        document = sample()
        base, names = document["flows"][1], 3 * flows
        for number in range(names):
            document["contracts"][f"big.C{number}"] = {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "maxLength": limit},
                    "next": {"$ref": f"#/contracts/big.C{(number + 1) % names}"},
                    "half": {"$ref": f"#/contracts/big.C{number // 2}"},
                },
                "required": ["id"],
            }
        for number in range(flows):
            document["flows"].append(
                {
                    **base,
                    "id": f"big.flow_{number}",
                    "input": {"type": f"big.C{number}"},
                    "output": {"type": f"big.C{2 * number}"},
                }
            )
        return json.dumps(document)

    counted = []
    for flows in (250, 500):
        old, new = (read_manifest(large(flows, limit), "x") for limit in (9, 9))
        contracts = pair_up(old, new).contracts
        counted.append(contracts.comparisons)
        assert contracts.comparisons <= len(contracts.old)
    assert counted[1] < 2.1 * counted[0]
    old, new = (read_manifest(large(20, limit), "x") for limit in (9, 8))
    assert {finding.code for finding in compare(old, new).findings} == {"FLOWX-DIFF-032", "FLOWX-DIFF-114"}
