"""Contracts to JSON text and back, with everything in them; what of it is stored or published, `documents` says."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
"""Building one costs milliseconds, using one microseconds; there are as many as an application has contracts."""


def _adapter(contract: Any) -> TypeAdapter[Any]:
    try:
        adapter = _ADAPTERS.get(contract)
    except TypeError:  # an annotation with metadata that has no hash
        return TypeAdapter(contract)
    if adapter is None:
        adapter = _ADAPTERS[contract] = TypeAdapter(contract)
    return adapter


def encode(contract: Any, value: object) -> str:
    """The JSON text of a value. Computed members are left out: they come back from the others.

    pydantic's warnings are off because they quote the value.
    """
    return _adapter(contract).dump_json(value, by_alias=True, round_trip=True, warnings=False).decode()


def encode_plain(contract: Any, value: object) -> str | None:
    """As `encode`; `None` for a value with a member that is not of its type, as unvalidated ones may be."""
    try:
        return _adapter(contract).dump_json(value, by_alias=True, round_trip=True, warnings="error").decode()
    except PydanticSerializationError:
        return None


def decode(contract: Any, text: str) -> Any:
    """The value of a JSON text that `encode` made.

    Raises:
        pydantic.ValidationError: the text does not fit the contract.
    """
    return _adapter(contract).validate_json(text)
