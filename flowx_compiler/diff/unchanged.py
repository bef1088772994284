"""A contract that stands word for word as it stood: nothing differs, and only what it refers to is left to ask.

Most contracts of most releases are so, and are spared the comparison of shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowx_compiler.diff.normalise import target

_PLAIN = frozenset(
    (
        *("type", "format", "enum", "const", "required", "title", "description", "sensitive"),
        *("minLength", "maxLength", "pattern", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"),
        *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    )
)
"""Words that hold no schema."""
_BESIDE_A_UNION = frozenset(("title", "description", "sensitive", "discriminator"))
_ONE = ("items", "additionalProperties", "propertyNames")


def references(schema: Any, scope: str) -> tuple[str, ...] | None:
    """The contracts that a schema refers to, each once.

    `None` when it says anything out of the ordinary, which comparing shapes knows better: opaque parts, definitions of
    its own, words that are not understood.
    """
    found: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if part is False:
            continue
        if not isinstance(part, dict):
            return None
        inner = _inside(part, scope, found)
        if inner is None:
            return None
        waiting += inner
    return tuple(found)


def _inside(part: Mapping[str, Any], scope: str, found: dict[str, None]) -> list[Any] | None:
    reference = part.get("$ref")
    if reference is not None:
        if not isinstance(reference, str) or not reference.startswith("#/contracts/") or "x-flowx-opaque" in part:
            return None
        found[target(reference, scope)] = None
        return []
    for word in ("anyOf", "oneOf"):
        if word in part:
            parts = part[word]
            is_union = isinstance(parts, list) and part.keys() - {word} <= _BESIDE_A_UNION
            # A part without a condition lets everything through, and hides what stands beside it.
            return parts if is_union and all(isinstance(item, dict) and _says(item) for item in parts) else None
    inner: list[Any] = []
    for word, value in part.items():
        if word in _PLAIN:
            continue
        if word == "properties" and part.get("type") == "object" and isinstance(value, dict):
            inner += value.values()
        elif word == "prefixItems" and part.get("type") == "array" and isinstance(value, list):
            inner += value
        elif word in _ONE and part.get("type") == ("array" if word == "items" else "object"):
            inner += [] if value is True else [value]
        else:
            return None
    return inner


def _says(part: Mapping[str, Any]) -> bool:
    return not part.keys().isdisjoint(("type", "$ref", "enum", "const", "anyOf", "oneOf"))
