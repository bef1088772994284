"""Contracts to JSON text and back, and what must not be said aloud about them. The one place that does either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from flowx_runtime.authoring.contracts import SensitiveMark

REDACTED = "[redacted]"


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}
"""Building one costs milliseconds, using one microseconds; there are as many as an application has contracts."""


def _adapter(contract: type[Any]) -> TypeAdapter[Any]:
    adapter = _ADAPTERS.get(contract)
    if adapter is None:
        adapter = _ADAPTERS[contract] = TypeAdapter(contract)
    return adapter


def encode(contract: type[Any], value: object) -> str:
    """The JSON text of a value. Computed members are left out: they come back from the others."""
    return _adapter(contract).dump_json(value, by_alias=True, round_trip=True).decode()


def decode(contract: type[Any], text: str) -> Any:
    """The value of a JSON text that `encode` made.

    Raises:
        pydantic.ValidationError: the text does not fit the contract.
    """
    return _adapter(contract).validate_json(text)


def redact(text: str, values: Iterable[object]) -> str:
    """A text without anything that a `Sensitive` member of the values holds."""
    secrets = {secret for value in values for secret in _secrets(value)}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return text


def _secrets(value: object) -> Iterator[str]:
    match value:
        case BaseModel():
            for name, field in type(value).model_fields.items():
                member = getattr(value, name, None)
                is_sensitive = any(isinstance(mark, SensitiveMark) for mark in field.metadata)
                yield from _spellings(member) if is_sensitive else _secrets(member)
        case Mapping():
            for member in value.values():
                yield from _secrets(member)
        case list() | tuple() | set() | frozenset():
            for member in value:
                yield from _secrets(member)


def _spellings(value: object) -> Iterator[str]:
    """Every text a sensitive value could be found as."""
    match value:
        case None | "" | True | False:
            return
        case BaseModel():
            for name in type(value).model_fields:
                yield from _spellings(getattr(value, name, None))
        case Mapping():
            for member in value.values():
                yield from _spellings(member)
        case list() | tuple() | set() | frozenset():
            for member in value:
                yield from _spellings(member)
        case _:
            yield str(value)
            yield repr(value)
