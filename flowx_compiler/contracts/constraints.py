"""What a constraint adds to the schema of the type it stands on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from flowx_compiler.contracts.shape import Kind, Shape, opaque

_LIMITS: Mapping[str, str] = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_LENGTHS: Mapping[Kind, Mapping[str, str]] = {
    Kind.TEXT: {"min_length": "minLength", "max_length": "maxLength"},
    Kind.SIZED_TEXT: {"min_length": "minLength", "max_length": "maxLength"},
    Kind.LIST: {"min_length": "minItems", "max_length": "maxItems"},
    Kind.DICT: {"min_length": "minProperties", "max_length": "maxProperties"},
}
KNOWN = frozenset((*_LIMITS, "min_length", "max_length", "pattern"))
"""Constraints that show in a schema."""


AFTER_CODE = "after code"
"""A constraint that is none: what follows it is about what a validator made, and not about what is on the wire."""


def constrained(shape: Shape, constraint: str, value: object) -> Shape:
    """A shape under one more constraint; opaque where pydantic would put it into code and not into the schema."""
    if constraint == AFTER_CODE:
        return shape if shape.is_opaque else replace(shape, kind=Kind.OTHER, inner=None)
    if shape.is_opaque or value is None:
        return shape
    if shape.kind is Kind.OPTIONAL and shape.inner is not None:
        inner = constrained(shape.inner, constraint, value)
        return replace(inner if inner.is_opaque else optional(inner), is_sensitive=shape.is_sensitive)
    if shape.kind is Kind.TEMPORAL and constraint in _LIMITS:
        return shape
    if shape.kind is Kind.DECIMAL and constraint in _LIMITS:
        number, text = shape.schema["anyOf"]
        limited = constrained(Shape(number, Kind.NUMBER), constraint, value)
        schema = limited.schema if limited.is_opaque else {"anyOf": [limited.schema, text]}
        return replace(shape, schema=schema, kind=Kind.OPAQUE if limited.is_opaque else shape.kind)
    word = _word(shape.kind, constraint)
    if word is None:
        return _refused(shape, f"`{constraint}` on this type is checked by code")
    if constraint == "pattern":
        if not isinstance(value, str):
            return _refused(shape, "its `pattern` is not a constant text")
    elif not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        return _refused(shape, f"its `{constraint}` is not a constant number")
    elif math.isinf(value):
        return shape
    return replace(shape, schema={**shape.schema, word: value})


def _refused(shape: Shape, reason: str) -> Shape:
    return replace(opaque(reason), is_sensitive=shape.is_sensitive)


def _word(kind: Kind, constraint: str) -> str | None:
    if constraint in _LIMITS:
        return _LIMITS[constraint] if kind is Kind.NUMBER else None
    if constraint == "pattern":
        return "pattern" if kind is Kind.TEXT else None
    return _LENGTHS.get(kind, {}).get(constraint)


def optional(shape: Shape) -> Shape:
    """The shape, or null."""
    if shape.kind in (Kind.NULL, Kind.OPTIONAL):
        return shape
    parts = shape.schema["anyOf"] if shape.schema.keys() == {"anyOf"} else [shape.schema]
    return Shape({"anyOf": [*parts, {"type": "null"}]}, Kind.OPTIONAL, shape, shape.is_sensitive)
