"""A contract's JSON Schema as a shape.

The many spellings of one thing become one: `anyOf` with null, a list of types and `oneOf` are one union; `const` is
an enumeration of one; an `allOf` around one schema is that schema. Words that say nothing of shape (titles,
descriptions, default values, examples) are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flowx_compiler.diff.shapes import (
    Alternative,
    Anything,
    Dictionary,
    Field,
    Items,
    Limits,
    Model,
    Opaque,
    Reference,
    Scalar,
    Shape,
    Unknown,
    Values,
)

OPAQUE = "x-flowx-opaque"

_ANNOTATIONS = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "sensitive"),
        *("$comment", "$defs", "definitions", "$schema", "$id", "discriminator", "nullable"),
        *("contentEncoding", "contentMediaType"),
    )
)
_LIMITS: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
    "boolean": (),
}
_STRUCTURE: Mapping[str, tuple[str, ...]] = {
    "array": ("items", "prefixItems"),
    "object": ("properties", "required", "additionalProperties", "propertyNames", "patternProperties"),
    "string": ("format",),
    "integer": ("format",),
    "number": ("format",),
    "boolean": (),
}
_KNOWN = frozenset(word for table in (_LIMITS, _STRUCTURE) for words in table.values() for word in words) | frozenset(
    ("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref")
)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(check(item) for item in value)


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _are(_is_schema)),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames"), _is_schema),
    **dict.fromkeys((word for words in _LIMITS.values() for word in words), _is_number),
    **dict.fromkeys(("format", "pattern", "$ref"), _is_text),
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(
        ("properties", "patternProperties"),
        lambda value: isinstance(value, dict) and all(_is_schema(member) for member in value.values()),
    ),
    "required": _are(_is_text),
    "type": lambda value: _is_text(value) or (bool(value) and _are(_is_text)(value)),
    "enum": lambda value: isinstance(value, list),
    "const": lambda _: True,
}


def normalise(schema: Any, scope: str = "") -> Shape:
    """The shape of a JSON Schema.

    Args:
        schema: as it stands in the document.
        scope: the contract it is part of, for references to its own `$defs`.
    """
    if schema is True or schema == {} or not isinstance(schema, dict):
        return Shape((Anything(),))
    if OPAQUE in schema:
        return Shape((Opaque(str(schema[OPAQUE])),))
    if isinstance(schema.get("$ref"), str):
        return Shape((Reference(target(schema["$ref"], scope)),))
    used = {word for word in schema if word not in _ANNOTATIONS and not word.startswith("x-")}
    if not used:
        return Shape((Anything(),))
    if used - _KNOWN or not _is_well_formed(schema, used):
        return Shape((_unknown(schema, used),))
    for word in ("anyOf", "oneOf"):
        if used == {word}:
            return _union((normalise(part, scope) for part in schema[word]), _discriminator(schema))
    if "allOf" in used:
        parts = schema["allOf"]
        if used == {"allOf"} and len(parts) == 1:
            return normalise(parts[0], scope)
        return Shape((_unknown(schema, used),))
    if used & {"anyOf", "oneOf"}:
        return Shape((_unknown(schema, used),))
    if "patternProperties" in used:
        return _patterned(schema, used, scope)
    if "enum" in used or "const" in used:
        return _values(schema["enum"] if "enum" in used else [schema["const"]])
    return _typed(schema, used, scope)


def _is_well_formed(schema: Mapping[str, Any], used: set[str]) -> bool:
    """Whether every word has the kind of value that JSON Schema gives it."""
    return all(_KINDS[word](schema[word]) for word in used)


def _typed(schema: Mapping[str, Any], used: set[str], scope: str) -> Shape:
    types = schema.get("type")
    if types is None:
        # A condition without a type holds for values of the one type it speaks about.
        types = next((name for name in ("object", "array", "string", "number") if used & _words_of(name)), "object")
    if isinstance(types, list):
        return _union((_typed({**schema, "type": name}, used, scope) for name in types), "")
    if types == "null":
        return Shape((), is_nullable=True)
    if types == "array":
        return Shape((_items(schema, scope),))
    if types == "object":
        return Shape((_object(schema, scope),))
    if types not in _LIMITS:
        return Shape((_unknown(schema, used),))
    return Shape((Scalar(types, str(schema.get("format", "")), _limits(schema, types)),))


def _words_of(type_: str) -> set[str]:
    return {*_LIMITS[type_], *_STRUCTURE[type_]}


def _items(schema: Mapping[str, Any], scope: str) -> Items:
    item = schema.get("items", True)
    prefix = schema.get("prefixItems", ())
    return Items(
        None if item is False else normalise(item, scope),
        tuple(normalise(part, scope) for part in prefix),
        _limits(schema, "array"),
    )


def _object(schema: Mapping[str, Any], scope: str) -> Alternative:
    extra = schema.get("additionalProperties")
    if "properties" not in schema and extra is not False:
        key = schema.get("propertyNames")
        return Dictionary(
            None if key is None else normalise(key, scope),
            normalise(True if extra is None else extra, scope),
            _limits(schema, "object"),
        )
    required = set(schema.get("required", ()))
    members = schema.get("properties", {})
    return Model(
        tuple(
            Field(
                name,
                normalise(members[name], scope),
                name in required,
                isinstance(members[name], dict) and members[name].get("sensitive") is True,
            )
            for name in sorted(members)
        ),
        is_closed=extra is False,
        is_open=extra is True or isinstance(extra, dict),
    )


def _patterned(schema: Mapping[str, Any], used: set[str], scope: str) -> Shape:
    """A mapping whose keys have one pattern, as it is written where keys are constrained text."""
    patterns = schema["patternProperties"]
    if used - {"type", "patternProperties", "minProperties", "maxProperties"} or len(patterns) != 1:
        return Shape((_unknown(schema, used),))
    ((pattern, value),) = patterns.items()
    key = Shape((Scalar("string", "", (("pattern", pattern),)),))
    return Shape((Dictionary(key, normalise(value, scope), _limits(schema, "object")),))


def _limits(schema: Mapping[str, Any], type_: str) -> Limits:
    return tuple((word, schema[word]) for word in _LIMITS[type_] if word in schema and schema[word] is not False)


def _values(values: Iterable[Any]) -> Shape:
    texts = {json.dumps(value, sort_keys=True) for value in values}
    listed = tuple(sorted(texts - {"null"}))
    return Shape((Values(listed),) if listed else (), is_nullable="null" in texts)


def _union(parts: Iterable[Shape], discriminator: str) -> Shape:
    found: dict[str, Alternative] = {}
    is_nullable = False
    values: set[str] = set()
    for part in parts:
        is_nullable |= part.is_nullable
        discriminator = discriminator or part.discriminator
        for alternative in part.alternatives:
            if isinstance(alternative, Values):
                values |= set(alternative.texts)
            else:
                found[repr(alternative)] = alternative
    if values:
        found["Values"] = Values(tuple(sorted(values)))
    return Shape(tuple(found[key] for key in sorted(found)), is_nullable, discriminator)


def _discriminator(schema: Mapping[str, Any]) -> str:
    value = schema.get("discriminator")
    return str(value.get("propertyName", "")) if isinstance(value, dict) else str(value or "")


def _unknown(schema: Mapping[str, Any], used: set[str]) -> Unknown:
    return Unknown(json.dumps({word: schema[word] for word in sorted(used)}, sort_keys=True))


def target(reference: str, scope: str) -> str:
    """The contract a reference names; a contract's own definitions are named below it.

    Args:
        reference: as it stands in the document.
        scope: the contract it stands in.
    """
    if reference.startswith(("#/$defs/", "#/definitions/")):
        return f"{scope.partition('#')[0]}#{reference.rpartition('/')[2]}"
    name = reference.removeprefix("#/contracts/")
    if "%" in name:
        from urllib.parse import unquote  # only names of parametrised contracts are escaped; it is slow to import

        return unquote(name)
    return name
