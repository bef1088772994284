"""Lays out generated expressions the way `ruff format` does: on one line if it fits, else one item a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88
"""The formatter's default. Wider settings leave exploded brackets alone, for each ends in a comma."""


@dataclass(frozen=True, slots=True)
class Bracketed:
    """`head(items)`, or a tuple where `head` is empty."""

    head: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One argument; `keyword` may be empty."""

    keyword: str
    value: Piece


Piece: TypeAlias = str | Bracketed


def call(head: str, /, **arguments: Piece | None) -> Bracketed:
    """A call of keyword arguments; those that are `None` are left out."""
    return Bracketed(head, tuple(Item(name, value) for name, value in arguments.items() if value is not None))


def sequence(items: Sequence[Piece]) -> Bracketed:
    """A tuple."""
    return Bracketed("", tuple(Item("", item) for item in items))


def text(value: str) -> str:
    """A string literal in double quotes."""
    body = repr(value)[1:-1]
    if repr(value)[0] == "'":
        body = body.replace('"', '\\"').replace("\\'", "'")
    return f'"{body}"'


def lay_out(prefix: str, piece: Piece, *, indent: int = 0, suffix: str = "") -> str:
    """The piece after a prefix, broken where it does not fit."""
    flat = prefix + _flat(piece) + suffix
    if isinstance(piece, str) or not piece.items or (indent + len(flat) <= WIDTH and not _must_break(piece)):
        return flat
    inner = indent + 4
    lines = [f"{prefix}{piece.head}("]
    for item in piece.items:
        keyword = f"{item.keyword}=" if item.keyword else ""
        lines.append(" " * inner + lay_out(keyword, item.value, indent=inner, suffix=","))
    lines.append(" " * indent + ")" + suffix)
    return "\n".join(lines)


def _must_break(piece: Bracketed) -> bool:
    # An inner bracket that was broken for its own sake would stay so; nothing here is.
    return any(isinstance(item.value, Bracketed) and _must_break(item.value) for item in piece.items)


def _flat(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    items = [(f"{item.keyword}=" if item.keyword else "") + _flat(item.value) for item in piece.items]
    lone = "," if not piece.head and len(items) == 1 else ""
    return f"{piece.head}({', '.join(items)}{lone})"
