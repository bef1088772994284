"""Which fields of the manifest's schema differ between two documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "schemas" / "flowx.manifest.schema.json").read_text("utf-8")
)


def fields() -> Iterator[str]:
    """Every field of the manifest's schema, under the name of its object."""
    yield from SCHEMA["properties"]
    for name, definition in SCHEMA["$defs"].items():
        for field in definition.get("properties", ()):
            yield f"{name}.{field}"


def touched(old: Any, new: Any) -> set[str]:
    """The fields whose values differ, each with the fields around it."""
    return set(_object("", SCHEMA, old, new))


def _object(name: str, schema: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield f"{name}.{key}" if name else key
            yield from _value(schema["properties"][key], old.get(key), new.get(key))


def _value(schema: dict[str, Any], old: Any, new: Any) -> Iterator[str]:
    name, inner = _inside(schema)
    if isinstance(old, list) and isinstance(new, list):
        for before, after in _paired(old, new):
            yield from _value(inner, before, after)
    elif name and isinstance(old, dict) and isinstance(new, dict):
        yield from _object(name, inner, old, new)


def _inside(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if "items" in schema:
        return "", schema["items"]
    name = schema.get("$ref", "").rpartition("/")[2]
    definition = SCHEMA["$defs"].get(name, {})
    return (name, definition) if "properties" in definition else ("", schema)


def _paired(old: list[Any], new: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Equal items are one item in another place; of the rest the first is taken to have become the first."""
    before = [item for item in old if item not in new]
    after = [item for item in new if item not in old]
    yield from zip(before, after, strict=False)
