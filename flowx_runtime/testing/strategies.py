"""Hypothesis strategies for contracts, from the members and constraints that pydantic knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from flowx_runtime.plan.plan import Plan

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a member's constraints say."""

    at_least: Any = None
    at_most: Any = None
    is_above: bool = False
    is_below: bool = False
    multiple_of: Any = None
    shortest: int = 0
    longest: int | None = None
    pattern: str | None = None
    digits: int | None = None
    places: int | None = None


def flow_inputs(plan: Plan[Any, Any]) -> st.SearchStrategy[Any]:
    """Inputs that a flow takes: `given(flow_inputs(PLAN))`."""
    return contracts(plan.input)


def contracts(contract: type[M], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[M]:
    """Values of a contract that its members' types and constraints allow; a member may be given a strategy."""
    parts = {
        name: members[name] if name in members else _of_field(field) for name, field in contract.model_fields.items()
    }
    names = {name: field.alias or name for name, field in contract.model_fields.items()}

    def made(values: dict[str, Any]) -> Any:
        try:
            return contract.model_validate({names[name]: value for name, value in values.items()})
        except ValidationError:
            # A validator of the author's own says more than types can; what it refuses is drawn anew.
            return _REFUSED

    return st.fixed_dictionaries(parts).map(made).filter(lambda value: value is not _REFUSED)


_REFUSED = object()
_EARLIEST = datetime(1970, 1, 2)  # noqa: DTZ001 - hypothesis wants bounds without a zone
_LATEST = datetime(2100, 1, 1)  # noqa: DTZ001


def _of_field(field: FieldInfo) -> st.SearchStrategy[Any]:
    strategy = _checked(field.annotation, tuple(field.metadata))
    if field.is_required():
        return strategy
    return st.just(field.get_default(call_default_factory=True)) | strategy


def _checked(annotation: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """A strategy for a type, held to every constraint that pydantic checks."""
    strategy = _of(annotation, _bounds(metadata))
    if not metadata:
        return strategy
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[(annotation, *metadata)])
    return strategy.filter(lambda value: _fits(adapter, value))


def _fits(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True


def _of(annotation: Any, bounds: _Bounds) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _checked(arguments[0], arguments[1:])
    if origin is Literal:
        return st.sampled_from(arguments)
    if _is_union(annotation):
        return st.one_of(*(_of(argument, bounds) for argument in arguments))
    if origin in (list, set, frozenset, tuple, dict):
        return _of_many(origin, arguments, bounds)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: contracts(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    made = _PLAIN.get(annotation)
    return made(bounds) if made is not None else st.from_type(annotation)


def _is_union(annotation: Any) -> bool:
    from types import UnionType
    from typing import Union

    return get_origin(annotation) in (Union, UnionType)


def _of_many(origin: Any, arguments: tuple[Any, ...], bounds: _Bounds) -> st.SearchStrategy[Any]:
    sizes: dict[str, Any] = {"min_size": bounds.shortest, "max_size": bounds.longest or bounds.shortest + 5}
    if origin is dict:
        return st.dictionaries(_of(arguments[0], _Bounds()), _of(arguments[1], _Bounds()), **sizes)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        return st.tuples(*(_of(argument, _Bounds()) for argument in arguments))
    if origin in (set, frozenset):
        return st.lists(_of(arguments[0], _Bounds()), unique=True, **sizes).map(origin)
    return st.lists(_of(arguments[0], _Bounds()), **sizes).map(origin)


def _texts(bounds: _Bounds) -> st.SearchStrategy[str]:
    if bounds.pattern is not None:
        return st.from_regex(bounds.pattern)
    # PostgreSQL takes no NUL, and JSON no lone surrogate.
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.text(characters, min_size=bounds.shortest, max_size=bounds.longest)


def _integers(bounds: _Bounds) -> st.SearchStrategy[int]:
    low = None if bounds.at_least is None else math.ceil(bounds.at_least) + bounds.is_above
    high = None if bounds.at_most is None else math.floor(bounds.at_most) - bounds.is_below
    if bounds.multiple_of:
        step = bounds.multiple_of
        least = None if low is None else math.ceil(low / step)
        most = None if high is None else math.floor(high / step)
        return st.integers(least, most).map(lambda number: int(number * step))
    return st.integers(low, high)


def _floats(bounds: _Bounds) -> st.SearchStrategy[float]:
    return st.floats(
        bounds.at_least,
        bounds.at_most,
        exclude_min=bounds.is_above and bounds.at_least is not None,
        exclude_max=bounds.is_below and bounds.at_most is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def _decimals(bounds: _Bounds) -> st.SearchStrategy[Decimal]:
    places = bounds.places if bounds.places is not None else min(bounds.digits or 6, 6)
    most = Decimal(10) ** ((bounds.digits or 18) - places) - Decimal(10) ** -places
    low = -most if bounds.at_least is None else max(-most, Decimal(bounds.at_least))
    high = most if bounds.at_most is None else min(most, Decimal(bounds.at_most))
    return st.decimals(low, high, places=places, allow_nan=False, allow_infinity=False)


_PLAIN: dict[Any, Callable[[_Bounds], st.SearchStrategy[Any]]] = {
    str: _texts,
    int: _integers,
    float: _floats,
    Decimal: _decimals,
    bool: lambda _: st.booleans(),
    bytes: lambda bounds: st.binary(min_size=bounds.shortest, max_size=bounds.longest),
    datetime: lambda _: st.datetimes(_EARLIEST, _LATEST, timezones=st.just(UTC)),
    date: lambda _: st.dates(_EARLIEST.date(), _LATEST.date()),
    time: lambda _: st.times(),
    NoneType: lambda _: st.none(),
    None: lambda _: st.none(),
    Any: lambda _: st.none() | st.booleans() | st.integers() | _texts(_Bounds()),
}


def _bounds(metadata: tuple[Any, ...]) -> _Bounds:
    found: dict[str, Any] = {}
    for item in metadata:
        match item:
            case annotated_types.Ge(ge=bound):
                found["at_least"] = bound
            case annotated_types.Gt(gt=bound):
                found |= {"at_least": bound, "is_above": True}
            case annotated_types.Le(le=bound):
                found["at_most"] = bound
            case annotated_types.Lt(lt=bound):
                found |= {"at_most": bound, "is_below": True}
            case annotated_types.MultipleOf(multiple_of=step):
                found["multiple_of"] = step
            case annotated_types.MinLen(min_length=length):
                found["shortest"] = length
            case annotated_types.MaxLen(max_length=length):
                found["longest"] = length
            case _:
                # What pydantic has no mark of its own for.
                for theirs, ours in (("pattern", "pattern"), ("max_digits", "digits"), ("decimal_places", "places")):
                    if isinstance(value := getattr(item, theirs, None), str | int):
                        found[ours] = value
    return _Bounds(**found)
