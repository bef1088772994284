"""Contracts: the typed values that cross the borders of steps and flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Contract(BaseModel):
    """A frozen pydantic model that refuses members it does not know.

    Its text form (`print`, a log line, a traceback that shows values) says nothing of `Sensitive` members.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            field = type(self).model_fields.get(name or "")
            is_hidden = field is not None and (is_mark(field.metadata) or _is_marked_inside(field.annotation))
            yield name, _HIDDEN if is_hidden and value is not None else value


class SensitiveMark:
    """Marks a member whose value never leaves in a log line, error, event, listing or page."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Sensitive"


class _Hidden:
    def __repr__(self) -> str:
        return "[redacted]"


_HIDDEN = _Hidden()


def is_mark(metadata: Iterable[Any]) -> bool:
    """Whether a mark is among the metadata of an annotation."""
    return any(isinstance(item, SensitiveMark) for item in metadata)


def _is_marked_inside(annotation: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether a mark is in an annotation, or in a class it names that does not hide its members by itself."""
    if is_mark(getattr(annotation, "__metadata__", ())):
        return True
    if isinstance(annotation, type) and not get_args(annotation):
        if annotation in seen or issubclass(annotation, Contract):
            return False
        return any(_is_marked_inside(inner, seen | {annotation}) for inner in _members(annotation))
    return any(_is_marked_inside(inner, seen) for inner in get_args(annotation))


def _members(cls: type[Any]) -> list[Any]:
    if issubclass(cls, BaseModel):
        return [Annotated[field.annotation, *field.metadata, None] for field in cls.model_fields.values()]
    is_record = is_dataclass(cls) or hasattr(cls, "__total__") or hasattr(cls, "_fields")
    return list(get_type_hints(cls, include_extras=True).values()) if is_record else []


Sensitive = Annotated[T, SensitiveMark()]
"""`national_id: Sensitive[str]` hides the value on every way out; the member's name is published."""
