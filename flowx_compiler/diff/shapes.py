"""What a contract's values may be, as values that compare equal whenever they mean the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Limits: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """No condition at all."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """The compiler could not derive it, and says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Uses words of JSON Schema that are not understood here; equal only to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Another contract of the document."""

    name: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number or boolean."""

    type: str
    format: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class Values:
    """One of listed values, each as JSON text; null is not among them."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list; with `prefix`, a tuple."""

    item: Shape | None
    prefix: tuple[Shape, ...]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Dictionary:
    """An object with free keys."""

    key: Shape | None
    value: Shape
    limits: Limits


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a model."""

    name: str
    shape: Shape
    is_required: bool
    is_sensitive: bool = field(compare=False)
    """Not part of the shape: marking has its own rules."""


@dataclass(frozen=True, slots=True)
class Model:
    """An object with named members."""

    fields: tuple[Field, ...]
    is_closed: bool
    """Refuses members that are not listed (`extra="forbid"`)."""
    is_open: bool
    """Keeps members that are not listed (`extra="allow"`)."""


Alternative: TypeAlias = Anything | Opaque | Unknown | Reference | Scalar | Values | Items | Dictionary | Model


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value may be: null, or one of the alternatives."""

    alternatives: tuple[Alternative, ...]
    is_nullable: bool = False
    discriminator: str = ""


def describe(shape: Shape) -> str:
    """A shape in a few words, for a finding."""
    words = [_words(alternative) for alternative in shape.alternatives]
    return " or ".join([*words, *(["null"] if shape.is_nullable else [])]) or "nothing"


def _words(alternative: Alternative) -> str:
    match alternative:
        case Anything():
            return "anything"
        case Opaque(reason):
            return f"opaque ({reason})"
        case Unknown(text):
            return text
        case Reference(name):
            plain, bracket, arguments = name.partition("[")
            return plain.rpartition(".")[2] + bracket + arguments
        case Scalar(type_, format_, limits):
            return (format_ or type_) + _limit_words(limits)
        case Values(texts):
            shown = ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")
            return f"one of {shown}"
        case Items(item, prefix, limits):
            inner = ", ".join([*map(describe, prefix), *([] if item is None else [describe(item)])]) or "anything"
            return f"list of {inner}" + _limit_words(limits)
        case Dictionary(_, value, limits):
            return f"mapping to {describe(value)}" + _limit_words(limits)
        case Model(fields, _, _):
            return "object with " + ", ".join(member.name for member in fields) if fields else "object"


def _limit_words(limits: Limits) -> str:
    return f" ({', '.join(f'{name} {json.dumps(value)}' for name, value in limits)})" if limits else ""
