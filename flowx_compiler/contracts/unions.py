"""Unions, and unions that one member tells apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flowx_compiler.contracts.constraints import optional
from flowx_compiler.contracts.shape import ANYTHING, NULL, Kind, Schema, Shape


def union(parts: Sequence[Shape]) -> Shape:
    """One of several; a union in a union is one union, and null goes last."""
    is_nullable = any(part.kind in (Kind.NULL, Kind.OPTIONAL) for part in parts)
    rest = [part.inner or part for part in parts if part.kind is not Kind.NULL]
    is_sensitive = any(part.is_sensitive for part in parts)
    schemas = _distinct(flat for part in rest for flat in _flat(part.schema))
    opaque_part = next((part for part in rest if part.is_opaque), None)
    if opaque_part is not None:
        whole = opaque_part
    elif not rest:
        whole = NULL
    elif {} in schemas:
        return replace(ANYTHING, is_sensitive=is_sensitive)  # null is a thing too
    elif len(rest) == 1:
        whole = rest[0]
    else:
        whole = Shape(schemas[0] if len(schemas) == 1 else {"anyOf": schemas})
    if is_nullable and not whole.is_opaque:
        whole = optional(whole)
    return replace(whole, is_sensitive=is_sensitive)


@dataclass(frozen=True, slots=True)
class Tagged:
    """One alternative of a union that is told apart by a member."""

    tags: tuple[str, ...]
    schema: Schema
    property: str
    """The member's published name."""


def tagged_union(alternatives: Sequence[Tagged]) -> Shape | None:
    """A union told apart by a member; `None` where its alternatives publish that member under different names."""
    names = {alternative.property for alternative in alternatives}
    if len(names) != 1:
        return None
    mapping: Schema = {}
    for alternative in alternatives:
        mapping |= {tag: alternative.schema.get("$ref", alternative.schema) for tag in alternative.tags}
    return Shape(
        {
            "oneOf": _distinct(alternative.schema for alternative in alternatives),
            "discriminator": {"propertyName": names.pop(), "mapping": mapping},
        }
    )


def _flat(schema: Schema) -> Iterable[Schema]:
    return schema["anyOf"] if schema.keys() == {"anyOf"} else (schema,)


def _distinct(schemas: Iterable[Schema]) -> list[Schema]:
    found: list[Schema] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found
