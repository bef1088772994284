"""Which alternatives of two unions are one thing with changes, and how things of different families relate."""

from __future__ import annotations

from flowx_compiler.diff.limits import Relation
from flowx_compiler.diff.shapes import (
    Alternative,
    Anything,
    Dictionary,
    Items,
    Model,
    Opaque,
    Reference,
    Scalar,
    Unknown,
    Values,
)


def family(alternative: Alternative) -> str:
    """Alternatives of one family are one thing with changes; references are matched by name instead."""
    match alternative:
        case Scalar(type_, _, _):
            return type_
        case Reference() | Anything() | Opaque():
            return ""
        case Values() | Items() | Dictionary() | Model() | Unknown():
            return type(alternative).__name__


def kin(old: Alternative, new: Alternative) -> Relation | None:
    """How two alternatives of different families relate, when one contains the other."""
    match old, new:
        case Scalar("integer", _, _), Scalar("number", _, ()):
            return Relation.WIDER
        case Scalar("number", _, ()), Scalar("integer", _, _):
            return Relation.NARROWER
        case Values(texts), Scalar("string", "", ()) if all(text.startswith('"') for text in texts):
            return Relation.WIDER
        case Scalar("string", "", ()), Values(texts) if all(text.startswith('"') for text in texts):
            return Relation.NARROWER
        case _:
            return None


def relate_formats(old: str, new: str) -> Relation:
    if old == new:
        return Relation.SAME
    if not old:
        return Relation.NARROWER
    return Relation.OTHER if new else Relation.WIDER
