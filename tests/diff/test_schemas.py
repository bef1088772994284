"""The published schemas: versions, completeness against the rules, and what really is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flowx_compiler.diff.registry import rules
from flowx_compiler.diff.shapes import OPAQUE
from tests.diff.cases import FIRES, SILENT
from tests.diff.sample import edited, report, sample

ROOT = Path(__file__).parents[2]
SCHEMAS = sorted((ROOT / "schemas").glob("*.schema.json"))
MANIFEST = json.loads((ROOT / "schemas" / "flowx.manifest.schema.json").read_text("utf-8"))
RELEASED = sorted((Path(__file__).parent / "manifests").glob("*.json"))

COMPARED: dict[str, tuple[str, ...]] = {
    "schemaVersion": ("200",),
    "application.name": ("201",),
    "flows": ("001", "100"),
    "capabilities": ("010", "101"),
    "events": ("020", "102"),
    "signals": ("030", "031", "032", "110", "112"),
    "signal.id": ("030",),
    "signal.contract": ("030", "031", "032", "110", "112", "211"),
    "errors": ("018",),
    "error.code": ("018",),
    "error.category": ("018",),
    "contracts": ("030", "031", "032", "033", "034", "110", "111", "112", "114", "210", "211"),
    "typeRef.type": ("002", "003", "011", "012", "210"),
    "typeRef.sensitive": ("006", "107"),
    "flow.id": ("001", "100"),
    "flow.version": ("001", "100", "040", "041", "212"),
    "flow.profile": ("004", "202"),
    "flow.deadline": ("203",),
    "flow.input": ("002", "030"),
    "flow.output": ("003", "033"),
    "flow.planDigest": ("040", "212"),
    "flow.retiredPlans": ("041",),
    "retiredPlan.version": ("041",),
    "retiredPlan.planDigest": ("040",),
    "flow.triggers": ("005", "103"),
    "flow.steps": ("021", "022", "035", "036", "113"),
    "trigger.kind": ("005", "103"),
    "trigger.method": ("005", "103"),
    "trigger.route": ("005", "103"),
    "trigger.transport": ("005", "103"),
    "trigger.topic": ("005", "103"),
    "trigger.cron": ("005", "103"),
    "trigger.idempotent": ("007", "008"),
    "trigger.timeZone": ("205",),
    "trigger.confirmation": ("009", "108"),
    "step.kind": ("035", "036", "113"),
    "step.name": ("035", "113"),
    "step.capability": ("035", "113"),
    "step.compensation": ("035", "113"),
    "step.flow": ("036",),
    "step.mode": ("036",),
    "step.merge": ("036",),
    "step.signal": ("021", "022"),
    "step.timeout": ("206",),
    "step.branches": ("021", "022"),
    "capability.id": ("010", "101"),
    "capability.version": ("010", "101"),
    "capability.input": ("011", "030"),
    "capability.output": ("012", "033"),
    "capability.authorization": ("014", "015"),
    "authorization.mode": ("014", "015"),
    "authorization.value": ("015",),
    "capability.idempotent": ("013", "105"),
    "capability.sideEffects": ("016", "106"),
    "capability.errors": ("017", "104", "019"),
    "capability.deprecated": ("204",),
    "event.type": ("020", "102"),
    "event.schemaVersion": ("020", "102"),
    "event.contract": ("033", "034", "111", "114"),
}
"""The rules that look at each field."""

NEVER_REPORTED = {
    "application": "only its name says anything",
    "application.version": "it changes by design",
    "extensions": "nobody here knows what its keys mean",
    "flow.owner": "who answers for a flow is no contract with its callers",
    "flow.source": "it moves with every edit of the file",
    "capability.source": "it moves with every edit of the file",
    "flow.emits": "derived; the events themselves are compared",
    "flow.errors": "derived; the capabilities' catalogues are compared",
    "trigger.group": "how this application consumes",
    "trigger.description": "prose that is meant to be edited",
    "authorization.approvedBy": "about the review, not about who may call",
    "event.producedBy": "derived",
    "event.consumedBy": "derived, and only what is inside this application",
    "capability.usedBy": "derived",
    "step.id": "the place in the plan, which the digest covers",
    "step.event": "what a flow emits is free; the events are compared",
    "step.policies": "what a flow does inside is free to change",
    "policy.kind": "what a flow does inside is free to change",
    "policy.stage": "follows from the kind",
}


def fields() -> Iterator[str]:
    """Every field of the manifest's schema, under the name of its object."""
    yield from MANIFEST["properties"]
    for name, definition in MANIFEST["$defs"].items():
        for field in definition.get("properties", ()):
            yield f"{name}.{field}"


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


def test_every_rule_looks_at_a_field() -> None:
    looked_at = {number for numbers in COMPARED.values() for number in numbers}
    assert looked_at == {rule.number for rule in rules()}


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


def test_f13_only_contract_fields_are_read() -> None:
    """What another version of the compiler writes beside them makes no finding."""
    for field, reason in NEVER_REPORTED.items():
        assert reason, field
    other = sample()
    for entry in (*other["flows"], *other["capabilities"]):
        entry["source"] = "elsewhere.py:Other"
    for shape in other["contracts"].values():
        shape |= {"title": "Other", "description": "written by another version"}
    assert OPAQUE not in json.dumps(other)
    assert report(sample(), other).findings == ()
