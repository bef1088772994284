"""Compares a value with what came back for it: equal, and of the same types all the way down.

Equality alone says too little: `StrEnum` members equal their texts and `True` equals 1. Types alone say too much, so
three things pass: a sequence for another and a mapping for another (the contract takes both, or validation would have
made them one), a whole number for the float or decimal it stands for, and a scalar for an equal one of a subclass.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isnan
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from flowx_runtime.engine.redaction import Redacted

Place = tuple[str | int, ...]
"""The way to a member: the name of a field, or a place among the elements."""

_SEQUENCES: Final = (list, tuple, deque)
_COLLECTIONS: Final = (*_SEQUENCES, Mapping, Set)
_ATOMS: Final = frozenset({str, int, bool, type(None), bytes, float, Decimal, UUID, date, datetime, time, timedelta})
_SUBCLASSED: Final = (str, int, float, Decimal, date, time, timedelta, UUID, bytes)


def difference(value: Any, found: Any) -> Place | None:
    """The first member that is not what it was; `()` for the value itself, `None` where all of it is the same."""
    kind = type(value)
    if kind is type(found) and kind in _ATOMS and value == found:
        return None
    if kind is tuple or kind is list or kind is dict:  # before the dear questions
        return _in_collection(value, found)
    if type(found) is Redacted or type(value) is Redacted:
        return None  # what was not kept is not compared
    if isinstance(value, BaseModel):
        return _in_model(value, found)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return _in_members(value, found, {name: getattr(value, name, None) for name in names})
    if isinstance(value, _COLLECTIONS):
        return _in_collection(value, found)
    return None if _is_same_scalar(value, found) else ()


def _in_collection(value: Any, found: Any) -> Place | None:
    if isinstance(value, _SEQUENCES) and isinstance(found, _SEQUENCES):
        return _in_sequence(value, found)
    if isinstance(value, Mapping) and isinstance(found, Mapping):
        return _in_mapping(value, found)
    if isinstance(value, Set) and isinstance(found, Set):
        is_same = value == found and Counter(map(type, value)) == Counter(map(type, found))
        return None if is_same else ()
    return None if type(found) is Redacted or _is_same_scalar(value, found) else ()


def _is_same_scalar(value: Any, found: Any) -> bool:
    if type(value) is type(found):
        return bool(value == found) or (_is_nan(value) and _is_nan(found))  # no NaN equals another
    if isinstance(value, Enum | bool) or isinstance(found, Enum | bool):
        return False
    if type(value) is int and type(found) in (float, Decimal):
        return bool(value == found)
    return type(found) in _SUBCLASSED and isinstance(value, type(found)) and bool(value == found)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | Decimal) and isnan(value)


def _in_model(value: BaseModel, found: Any) -> Place | None:
    if type(value) is not type(found):
        return ()
    members, others, fields = value.__dict__, found.__dict__, type(value).__pydantic_fields__
    for name, member in members.items():
        if name in fields:  # what is cached beside them is made anew
            place = difference(member, others.get(name))
            if place is not None:
                return name, *place
    if value.__pydantic_extra__ and difference(value.__pydantic_extra__, found.__pydantic_extra__) is not None:
        return ()
    return None if value.__pydantic_private__ == found.__pydantic_private__ else ()


def _in_members(value: Any, found: Any, members: Mapping[str, Any]) -> Place | None:
    if type(value) is not type(found):
        return ()
    for name, member in members.items():
        place = difference(member, getattr(found, name, None))
        if place is not None:
            return name, *place
    return None


def _in_sequence(value: Any, found: Any) -> Place | None:
    is_named = hasattr(value, "_fields")
    if len(value) != len(found) or (is_named and type(value) is not type(found)):
        return ()
    for index, (member, other) in enumerate(zip(value, found, strict=True)):
        place = difference(member, other)
        if place is not None:
            return index, *place
    return None


def _in_mapping(value: Mapping[Any, Any], found: Mapping[Any, Any]) -> Place | None:
    """Keys are no names of the contract's: the place ends here."""
    if len(value) != len(found):
        return ()
    pairs = zip(value.items(), found.items(), strict=True)
    is_same = all(
        difference(key, its_key) is None and difference(member, its) is None for (key, member), (its_key, its) in pairs
    )
    return None if is_same else ()
