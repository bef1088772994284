"""Results of steps as JSON, and back as what they were."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from flowx_runtime.authoring.errors import FlowError, FlowxError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.comparison import difference
from flowx_runtime.engine.documents import Documents, ValueNotKept, ValueTooLarge, ValueUnreadable
from flowx_runtime.journal.records import StoredError

_PLAIN: Final = (type(None), bool, int, float, str, list, dict)
_SINGLE: Final = (date, datetime, time, timedelta, Decimal, Enum, PurePath, UUID, bytes)


class ResultNotKept(FlowError, code="flow.once_result_not_kept", category=Category.VALIDATION):
    """A step has run and its result cannot be read back: give `returns=` with the type of the result."""


class ResultTooLarge(ResultNotKept, code=ValueTooLarge.code, category=Category.VALIDATION):
    """A step has run and its result is larger than what is stored: keep it elsewhere, and give its key."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A result as it is stored."""

    value: str
    type: str | None
    """The class that reads it; `None` where JSON says it all, or where `returns` does."""


def keep(value: Any, returns: Any, documents: Documents, instance_id: UUID) -> Kept:
    """A result as JSON.

    Raises:
        ResultNotKept: what would be read back is not what was returned.
        ResultTooLarge: it is over the limit of what is stored.
    """
    what = type(value).__qualname__
    try:
        kept = _kept(value, returns, documents, instance_id)
        documents.within_limit(what, kept.value)
    except ValueTooLarge as too_large:
        raise ResultTooLarge(str(too_large)) from too_large
    except ResultNotKept:
        raise
    except ValueNotKept as lost:
        raise ResultNotKept(f"a step gave what cannot be read back: {lost}") from lost
    except Exception as error:  # it has run: whatever writing it comes to, it must not run again
        raise ResultNotKept(
            f"a step gave a {what}, which cannot be read back by itself: give returns= with its type"
            if returns is None
            else f"a result is not of the type that returns= says: {what}"
        ) from error
    return kept


def _kept(value: Any, returns: Any, documents: Documents, instance_id: UUID) -> Kept:
    cls = type(value)
    if returns is not None:
        text = _written(returns, value, documents, instance_id)
        if difference(value, _read(returns, text, documents, instance_id)) is not None:
            raise ResultNotKept(
                f"a result does not come back as what it is from the type that returns= says: {cls.__qualname__}"
            )
        return Kept(text, None)
    if isinstance(value, BaseModel):
        return Kept(documents.stored(cls, value, instance_id), _name(cls))
    if isinstance(value, _SINGLE) or dataclasses.is_dataclass(value):
        text = TypeAdapter(cls).dump_json(value).decode()
        if difference(value, TypeAdapter(cls).validate_json(text)) is None:
            return Kept(text, _name(cls))
    elif cls in _PLAIN:
        text = json.dumps(value, allow_nan=False)
        if _is_same(json.loads(text), value):
            return Kept(text, None)
    raise ResultNotKept(
        f"a step gave a {cls.__qualname__}, which cannot be read back by itself: give returns= with its type"
    )


def give_back(value: str, type: str | None, returns: Any, documents: Documents, instance_id: UUID) -> Any:
    """The result that was kept.

    Raises:
        ResultNotKept: the class it was of is not there any more, or reads something else.
    """
    try:
        if returns is not None:
            return _read(returns, value, documents, instance_id)
        if type is None:
            return json.loads(value)
        return _read(_find(type), value, documents, instance_id)
    except Exception as error:
        if isinstance(error, FlowxError) and not isinstance(error, ValueUnreadable):
            raise
        what = type or "its type"
        raise ResultNotKept(
            f"what a step left cannot be read as {what} any more: give returns= with its type"
        ) from error


def not_kept(error: StoredError) -> ResultNotKept:
    """Why the result of a step that has run is not there."""
    return (ResultTooLarge if error.code == ResultTooLarge.code else ResultNotKept)(error.detail)


def error_type(error: BaseException) -> str:
    """The name under which `error_again` finds an exception's class."""
    return _name(type(error))


def error_again(error: StoredError, name: str | None) -> Exception:
    """The exception that a step failed with for good, for a body that comes to it again."""
    try:
        found = _find(name or "")
    except LookupError:
        found = None
    if isinstance(found, type) and issubclass(found, Exception):
        again = found.__new__(found, error.detail)
        again.args = (error.detail,)
        return again
    known = type("StepFailed", (FlowError,), {}, code=error.code, category=Category(error.category))
    unknown: Exception = known(error.detail)
    return unknown


def _written(type: Any, value: Any, documents: Documents, instance_id: UUID) -> str:
    if isinstance(value, BaseModel) and value.__class__ is type:
        return documents.stored(type, value, instance_id)
    adapter: TypeAdapter[Any] = TypeAdapter(type)
    return adapter.dump_json(adapter.validate_python(value)).decode()


def _read(type: Any, text: str, documents: Documents, instance_id: UUID) -> Any:
    if isinstance(type, _CLASS) and issubclass(type, BaseModel):
        return documents.restored(type, text, instance_id)
    return TypeAdapter(type).validate_json(text)


_CLASS: Final = type
"""`type` is the name of an argument here."""


def _is_same(found: Any, value: Any) -> bool:
    """Equal and of the same types all the way down: JSON reads a tuple as a list, and a key as a text."""
    if type(found) is not type(value):
        return False
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(_is_same(found[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(found) == len(value) and all(map(_is_same, found, value))
    return bool(found == value)


def _name(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _find(name: str) -> Any:
    """The class of a name, among the modules that are loaded: a body that makes such values has imported it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type):
        return found
    raise LookupError(name)
