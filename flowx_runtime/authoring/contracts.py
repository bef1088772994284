"""Contracts: the typed values that cross the borders of steps and flows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar, get_args

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
            is_hidden = field is not None and (_has_mark(field.metadata) or _is_marked_inside(field.annotation))
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


def _has_mark(metadata: Any) -> bool:
    return any(isinstance(item, SensitiveMark) for item in metadata)


def _is_marked_inside(annotation: Any) -> bool:
    if _has_mark(getattr(annotation, "__metadata__", ())):
        return True
    return any(_is_marked_inside(inner) for inner in get_args(annotation))


Sensitive = Annotated[T, SensitiveMark()]
"""`national_id: Sensitive[str]` hides the value on every way out; the member's name is published."""
