"""The names that a contract declares: what may be told of where a value is wrong, when the value is a stranger's.

A place in a value is made of what was sent as well: keys of dictionaries, names of unknown members, tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter

UNTOLD: Final = "…"


def place_in(contract: Any, place: tuple[str | int, ...]) -> list[str]:
    """A place in a value of a contract, with `…` for what the contract does not declare; indices are kept."""
    names = _names(contract)
    return [str(part) if isinstance(part, int) or part in names else UNTOLD for part in place]


def _names(contract: Any) -> frozenset[str]:
    try:
        return _declared(contract)
    except TypeError:  # an annotation with metadata that has no hash
        return _declared.__wrapped__(contract)


@cache
def _declared(contract: Any) -> frozenset[str]:
    return frozenset(_in(TypeAdapter(contract).core_schema))


def _in(schema: Any) -> Iterator[str]:
    """Names of members, and what they are called in documents, at any depth of a core schema."""
    if isinstance(schema, Mapping):
        fields = schema.get("fields")
        if isinstance(fields, Mapping):
            yield from fields
        if schema.get("type") == "dataclass-field":
            yield schema["name"]
        for key in ("validation_alias", "serialization_alias"):
            yield from _texts(schema.get(key))
        for key, part in schema.items():
            if key not in ("metadata", "default", "cls", "serialization"):
                yield from _in(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            yield from _in(part)


def _texts(alias: Any) -> Iterator[str]:
    if isinstance(alias, str):
        yield alias
    elif isinstance(alias, list | tuple):
        for part in alias:
            yield from _texts(part)
