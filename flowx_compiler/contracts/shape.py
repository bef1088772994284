"""The JSON Schema of one type, with what has to be known about it while it is put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

OPAQUE = "x-flowx-opaque"
SENSITIVE = "sensitive"
_CONTRACTS = "#/contracts/"
_READABLE = "._,-"


class Kind(Enum):
    """What a constraint means for a type; two types may have one schema and take different constraints."""

    NUMBER = "number"
    DECIMAL = "decimal"
    TEXT = "text"
    SIZED_TEXT = "sized text"
    """Goes over the wire as text, and takes a length but no pattern."""
    TEMPORAL = "temporal"
    """A date, time or duration: a limit on it is not part of its schema."""
    LIST = "list"
    DICT = "dict"
    NULL = "null"
    OPTIONAL = "optional"
    """Something, or null: a constraint is about the something."""
    OPAQUE = "opaque"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema and its kind."""

    schema: Schema
    kind: Kind = Kind.OTHER
    inner: Shape | None = None
    """Of an optional: the shape without null."""
    is_sensitive: bool = False
    """Whether something in it is marked; the member that holds it says so."""

    @property
    def is_opaque(self) -> bool:
        """Whether nothing is known of it at all."""
        return self.kind is Kind.OPAQUE


NULL = Shape({"type": "null"}, Kind.NULL)
ANYTHING = Shape({})


def opaque(reason: str) -> Shape:
    """What cannot be derived, with the reason as one plain clause."""
    return Shape({OPAQUE: reason}, Kind.OPAQUE)


def reference(name: str) -> Shape:
    """Another contract. Its name is written as a URI has to have it: brackets of a parametrised one are escaped."""
    if not (name.isascii() and name.replace(".", "_").isidentifier()):
        from urllib.parse import quote  # few names need it, and it is slow to import

        name = quote(name, safe=_READABLE)
    return Shape({"$ref": _CONTRACTS + name})


def target(schema: Schema) -> str | None:
    """The contract that a schema refers to."""
    found = schema.get("$ref")
    if not isinstance(found, str):
        return None
    name = found.removeprefix(_CONTRACTS)
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name)


def is_opaque_somewhere(schema: Any) -> bool:
    """Whether a schema leaves something open, short of other contracts."""
    if isinstance(schema, dict):
        return OPAQUE in schema or any(is_opaque_somewhere(part) for part in schema.values())
    return isinstance(schema, list) and any(is_opaque_somewhere(part) for part in schema)


def references(schema: Any) -> Iterator[str]:
    """Every contract that a schema refers to."""
    open_parts = [schema]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, dict):
            name = target(part)
            if name is not None:
                yield name
            open_parts += part.values()
        elif isinstance(part, list):
            open_parts += part
