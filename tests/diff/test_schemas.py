"""The published schemas: versions, completeness against the rules, and what really is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flowx_compiler.diff.normalise import OPAQUE
from flowx_compiler.diff.registry import rules
from tests.diff.cases import FIRES, SILENT
from tests.diff.field_edits import COMPARED, NEVER_REPORTED
from tests.diff.fields import fields, touched
from tests.diff.sample import edited, report, sample, told

ROOT = Path(__file__).parents[2]
SCHEMAS = sorted((ROOT / "schemas").glob("*.schema.json"))
MANIFEST = json.loads((ROOT / "schemas" / "flowx.manifest.schema.json").read_text("utf-8"))
RELEASED = sorted((Path(__file__).parent / "manifests").glob("*.json"))


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_every_field_is_compared_or_never_reported() -> None:
    assert COMPARED.keys() & NEVER_REPORTED.keys() == set()
    assert set(fields()) == COMPARED.keys() | NEVER_REPORTED.keys()


@pytest.mark.parametrize("field", COMPARED)
def test_an_edit_of_a_compared_field_is_told(field: str) -> None:
    for edit, numbers in COMPARED[field]:
        new = edited(edit)
        assert field in touched(sample(), new), "the edit is of another field"
        assert tuple(dict.fromkeys(number for number, _ in told(sample(), new))) == numbers


@pytest.mark.parametrize("field", NEVER_REPORTED)
def test_an_edit_of_any_other_field_is_not_told(field: str) -> None:
    reason, edit = NEVER_REPORTED[field]
    new = edited(edit)
    assert reason
    assert field in touched(sample(), new), "the edit is of another field"
    assert told(sample(), new) == []


def test_every_rule_is_fired_by_an_edit_of_a_field() -> None:
    fired = {number for edits in COMPARED.values() for _, numbers in edits for number in numbers}
    assert fired == {rule.number for rule in rules()}


@pytest.mark.parametrize("name", ["flowx.manifest", "flowx.diff"])
def test_every_object_is_closed(name: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    for closed in objects(schema):
        assert closed["additionalProperties"] is False
        assert set(closed["required"]) <= closed["properties"].keys()


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_every_schema_is_one(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_f17_a_schema_that_changes_moves_its_version(path: Path) -> None:
    released = json.loads((path.parent / "released.json").read_text("utf-8"))[path.name]
    version = json.loads(path.read_text("utf-8"))["x-schemaVersion"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert released.get(version) == digest, "move x-schemaVersion, and add the new version's hash to released.json"


def test_the_sample_and_its_edits_are_manifests() -> None:
    validator = jsonschema.Draft202012Validator(MANIFEST)
    validator.validate(sample())
    deliberate = {"the confirmation is a word nobody knows", "a stance nobody knows", "a code listed twice"}
    for case in (*FIRES, *SILENT):
        if case.name not in deliberate:
            validator.validate(edited(case.edit))


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name)
def test_f16_a_manifest_of_every_released_schema_is_still_read(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert report(document, document).findings == ()
    assert document["schemaVersion"] == path.stem


def test_f16_every_released_version_has_its_manifest() -> None:
    released = json.loads((ROOT / "schemas" / "released.json").read_text("utf-8"))
    assert {path.stem for path in RELEASED} == set(released["flowx.manifest.schema.json"])


def respelt(schema: Any) -> Any:
    """The same shape in the words that another version of the compiler might choose."""
    if isinstance(schema, list):
        return [respelt(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "enum" in schema:
        return {"oneOf": [{"const": value} for value in reversed(schema["enum"])], "title": "Choice"}
    if "anyOf" in schema:
        return {"oneOf": [respelt(part) for part in reversed(schema["anyOf"])], "default": None}
    return {key: respelt(value) for key, value in reversed(schema.items())}


def test_f13_only_contract_fields_are_read_in_whatever_words() -> None:
    """What another version of the compiler writes beside them, or spells another way, makes no finding."""
    other = sample() | {"schemaVersion": "1.4.0", "compiler": "9.9.9"}
    for entry in (*other["flows"], *other["capabilities"]):
        entry["source"] = "elsewhere.py:Other"
        entry["madeBy"] = {"version": "9.9.9"}
    other["contracts"] = {name: respelt(shape) for name, shape in reversed(other["contracts"].items())}
    for shape in other["contracts"].values():
        shape |= {"title": "Other", "description": "written by another version", "$comment": "9.9.9"}
    assert OPAQUE not in json.dumps(other)
    assert "oneOf" in json.dumps(other)
    assert report(sample(), other).findings == ()
