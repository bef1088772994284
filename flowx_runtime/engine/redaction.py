"""Finds what is marked `Sensitive`, wherever it lies in a contract, and puts a placeholder there.

The one place that knows where secrets are. Marks are looked for in annotations and values together: a list of marked
strings, an optional marked number and a marked member of a nested model are all found. Where it is not certain which
part of a document a mark stands for (a serializer of the author's own), the whole that surely contains it is hidden.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    NoReturn,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, PlainSerializer, RootModel, SecretBytes, SecretStr, SerializeAsAny, WrapSerializer
from pydantic_core import to_jsonable_python

from flowx_runtime.authoring.contracts import is_mark
from flowx_runtime.authoring.errors import FlowxError

REDACTED: Final = "[redacted]"

VALUE_REDACTED: Final = "flow.value_redacted"

NEEDS_KEY_RING: Final = (
    "a step needs a sensitive value that was redacted when it was stored: give the host a key ring, so that such "
    "values are sealed and come back, or read the value anew in the step that needs it"
)

Steps: TypeAlias = tuple[str | int, ...]
"""The way to a member in its document: the name in an object, the place in a list or among an object's members."""


class ValueRedacted(FlowxError):
    """A sensitive value was not kept, so that nothing can be done with it after a resume: give the host a key ring."""

    code: ClassVar[str] = VALUE_REDACTED


def _refuse(*_: object, **__: object) -> NoReturn:
    raise ValueRedacted(NEEDS_KEY_RING)


class Redacted(str):
    """Stands where a sensitive value was that is no text. Whoever computes with it is told, and is not deceived."""

    __slots__ = ()

    def __new__(cls) -> Redacted:
        return super().__new__(cls, REDACTED)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        return _refuse()

    def __repr__(self) -> str:
        return REDACTED


_COMPUTING: Final = (
    *("str", "bool", "hash", "eq", "ne", "lt", "le", "gt", "ge", "len", "iter", "getitem", "contains", "format"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod", "truediv", "rtruediv", "floordiv", "pow"),
    *("abs", "neg", "int", "float", "index"),
)
for _name in _COMPUTING:
    setattr(Redacted, f"__{_name}__", _refuse)


def redact(text: str, values: Iterable[object]) -> str:
    """A text without anything that a sensitive member of the values holds, in any spelling it could have there."""
    secrets = {spelling for value in values for _, secret in marked(Any, value) for spelling in _spellings(secret)}
    for secret in sorted(secrets, key=len, reverse=True):
        if secret.isdecimal():  # a short number is also a part of many that have nothing to do with it
            text = re.sub(rf"(?<![0-9]){secret}(?![0-9])", REDACTED, text)
        else:
            text = text.replace(secret, REDACTED)
    return text


def marked(annotation: Any, value: object) -> Iterator[tuple[Steps, object]]:
    """Every sensitive member of a value and the way to it; the value may be of any shape."""
    yield from _marked((annotation,), value, ())


def has_holes(value: object, *, in_text: bool = False) -> bool:
    """Whether something in a value was redacted and is no text; or is a text, if that counts."""
    return any(isinstance(member, Redacted) or (in_text and member == REDACTED) for _, member in marked(Any, value))


def refuse_holes(value: object, *, in_text: bool = False) -> None:
    """Keep a value that lacks a part of itself from being worked with.

    Args:
        value: what is about to be handed on.
        in_text: whether a redacted text counts: a step that is done forwards must not send "[redacted]" to a bank; an
            undo seldom needs what it undid by, and must not stay undone for it.

    Raises:
        ValueRedacted: it does.
    """
    if may_hold_secrets(type(value)) and has_holes(value, in_text=in_text):
        _refuse()


_MAY_HOLD: dict[type[Any], bool] = {}
"""Asked at every step; there are as many as an application has contracts."""


def may_hold_secrets(contract: type[Any]) -> bool:
    """Whether a value of this type could have a sensitive member; where a type says nothing, it could."""
    known = _MAY_HOLD.get(contract)
    if known is None:
        known = _MAY_HOLD[contract] = may_hold_secrets_at(contract)
    return known


def may_hold_secrets_at(annotation: Any) -> bool:
    """Like `may_hold_secrets`, for any annotation."""
    return _may_hold(annotation, set())


def arms(annotation: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """What an annotation may stand for, each with its metadata: the members of a union, aliases resolved."""
    yield from _arms(annotation, ())


def name_in_document(name: str, field: Any) -> str:
    """What a model's member is called in its JSON."""
    found: str = field.serialization_alias or field.alias or name
    return found


def _arms(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        yield from _arms(inner, (*metadata, *more))
    elif origin is Union or origin is types.UnionType:
        for member in get_args(annotation):
            yield from _arms(member, metadata)
    elif hasattr(annotation, "__value__"):  # a `type` statement
        yield from _arms(annotation.__value__, metadata)
    elif hasattr(annotation, "__supertype__"):  # a NewType
        yield from _arms(annotation.__supertype__, metadata)
    elif isinstance(annotation, TypeVar):
        yield (Any if annotation.__bound__ is None else annotation.__bound__), metadata
    else:
        yield annotation, metadata


def _marked(annotations: Iterable[Any], value: object, at: Steps) -> Iterator[tuple[Steps, object]]:
    if isinstance(value, Redacted):
        yield at, value
        return
    if value is None or _is_empty(value):
        return
    possible = [arm for annotation in annotations for arm in arms(annotation)]
    if any(is_mark(metadata) for _, metadata in possible):
        yield at, value
        return
    kinds = [kind for kind, _ in possible]
    if isinstance(value, BaseModel):
        yield from _marked_in_model(kinds, value, at)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name, hint in _hints(type(value)).items():
            yield from _marked((hint,), getattr(value, name, None), (*at, name))
    elif isinstance(value, Mapping):
        yield from _marked_in_mapping(kinds, value, at)
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        hints = list(_hints(type(value)).values())
        for place, member in enumerate(value):
            yield from _marked(hints[place : place + 1] or (Any,), member, (*at, place))
    elif isinstance(value, list | tuple | set | frozenset):
        for place, member in enumerate(value):
            yield from _marked(_element(kinds, place), member, (*at, place))


def _is_empty(value: object) -> bool:
    """Whether there is nothing to hide: a member that was left out must not keep a step from being resumed."""
    return isinstance(value, str | bytes | Mapping | list | tuple | set | frozenset) and not value


def _marked_in_model(kinds: list[Any], value: BaseModel, at: Steps) -> Iterator[tuple[Steps, object]]:
    cls = type(value)
    if _writes_itself(cls) and may_hold_secrets(cls):
        yield at, value
        return
    # A member may be written by the class it is declared with, whose marks and names then count too.
    declared = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not cls]
    for model in (cls, *declared):
        for name, field in model.model_fields.items():
            member = getattr(value, name, None)
            inner = at if issubclass(cls, RootModel) else (*at, name_in_document(name, field))
            annotation = field.annotation if not field.metadata else Annotated[field.annotation, *field.metadata]
            if _has_serializer(model, name, field.metadata) and may_hold_secrets_at(annotation):
                yield inner, member
            else:
                yield from _marked((annotation,), member, inner)
    for name, member in (value.__pydantic_extra__ or {}).items():
        yield from _marked((Any,), member, (*at, name))


def _marked_in_mapping(kinds: list[Any], value: Mapping[Any, Any], at: Steps) -> Iterator[tuple[Steps, object]]:
    hints = next((_hints(kind) for kind in kinds if _is_typed_dict(kind)), {})
    parameters = [get_args(kind) for kind in kinds if len(get_args(kind)) == 2]
    if value and any(is_mark(metadata) for key, _ in parameters for _, metadata in arms(key)):
        yield at, value
        return
    for place, (key, member) in enumerate(value.items()):
        declared = [hints[key]] if key in hints else [element for _, element in parameters]
        yield from _marked(declared or (Any,), member, (*at, place))


def _element(kinds: Iterable[Any], place: int) -> list[Any]:
    found = []
    for kind in kinds:
        parameters = get_args(kind)
        if not parameters:
            continue
        is_fixed = get_origin(kind) is tuple and parameters[-1] is not Ellipsis
        found.append(parameters[place] if is_fixed and place < len(parameters) else parameters[0])
    return found or [Any]


def _may_hold(annotation: Any, seen: set[Any]) -> bool:
    for kind, metadata in arms(annotation):
        if kind is Any or kind is object or is_mark(metadata) or isinstance(kind, str) or SerializeAsAny in metadata:
            return True
        if isinstance(kind, type) and get_origin(kind) is None:
            if kind in seen:
                continue
            seen.add(kind)
            if any(_may_hold(inner, seen) for inner in _members(kind)):
                return True
        elif any(_may_hold(inner, seen) for inner in get_args(kind) if not isinstance(inner, str | int | bytes)):
            return True
    return False


def _members(kind: type[Any]) -> list[Any]:
    if issubclass(kind, BaseModel):
        if kind is BaseModel:
            return [Any]
        return [Annotated[field.annotation, *field.metadata, None] for field in kind.model_fields.values()]
    if kind in (list, tuple, set, frozenset, dict):
        return [Any]
    if dataclasses.is_dataclass(kind) or _is_typed_dict(kind) or hasattr(kind, "_fields"):
        return list(_hints(kind).values())
    return []


def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


def _writes_itself(model: type[BaseModel]) -> bool:
    return bool(model.__pydantic_decorators__.model_serializers)


def _has_serializer(model: type[BaseModel], name: str, metadata: Iterable[Any]) -> bool:
    if any(isinstance(item, PlainSerializer | WrapSerializer) for item in metadata):
        return True
    serializers = model.__pydantic_decorators__.field_serializers.values()
    return any(name in found.info.fields or "*" in found.info.fields for found in serializers)


def _spellings(value: object) -> Iterator[str]:
    """Every text a sensitive value could be found as."""
    match value:
        case Redacted() | None | "" | True | False:
            return
        case SecretStr() | SecretBytes():
            yield from _spellings(value.get_secret_value())
        case BaseModel():
            for name in type(value).model_fields:
                yield from _spellings(getattr(value, name, None))
        case Mapping():
            for key, member in value.items():
                yield from _spellings(key)
                yield from _spellings(member)
        case list() | tuple() | set() | frozenset():
            for member in value:
                yield from _spellings(member)
        case str():
            yield value
            yield repr(value)[1:-1]
            yield json.dumps(value)[1:-1]
            yield json.dumps(value, ensure_ascii=False)[1:-1]
        case _:
            yield str(value)
            yield repr(value)
            written = to_jsonable_python(value, fallback=str)
            if isinstance(written, str):
                yield from _spellings(written)
