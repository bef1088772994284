"""Lays out generated expressions the way `ruff format` does: on one line if it fits, else one item a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

WIDTH: Final = 88
"""The formatter's default. Wider settings leave exploded brackets alone, for each ends in a comma."""

_NAMED_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNSEEN: Final = (
    range(0x200B, 0x2010),
    range(0x2028, 0x202F),
    range(0x2060, 0x2070),
    range(0xD800, 0xE000),
    range(0xFEFF, 0xFF00),
)
"""Characters that hide, turn the line around, or cannot be encoded."""

_CLOSING: Final = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Bracketed:
    """`head(items)`, or a display where `head` is empty."""

    head: str
    items: tuple[Item, ...]
    opening: str = "("


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
    """A string literal, in the quotes that need fewer escapes; double ones if it makes no difference."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    is_plain = value.isascii() and value.isprintable() and quote not in value and "\\" not in value
    body = value if is_plain else "".join(_escaped(character, quote) for character in value)
    return f"{quote}{body}{quote}"


def lay_out(prefix: str, piece: Piece, *, indent: int = 0, suffix: str = "") -> str:
    """The piece after a prefix, broken where it does not fit."""
    whole = prefix + flat(piece) + suffix
    if isinstance(piece, str) or not piece.items or indent + len(whole) <= WIDTH:
        return whole
    inner = indent + 4
    lines = [f"{prefix}{piece.head}{piece.opening}"]
    for item in piece.items:
        keyword = f"{item.keyword}=" if item.keyword else ""
        lines.append(" " * inner + lay_out(keyword, item.value, indent=inner, suffix=","))
    lines.append(" " * indent + _CLOSING[piece.opening] + suffix)
    return "\n".join(lines)


def flat(piece: Piece) -> str:
    """The piece on one line."""
    if isinstance(piece, str):
        return piece
    items = [(f"{item.keyword}=" if item.keyword else "") + flat(item.value) for item in piece.items]
    lone = "," if not piece.head and piece.opening == "(" and len(items) == 1 else ""
    return f"{piece.head}{piece.opening}{', '.join(items)}{lone}{_CLOSING[piece.opening]}"


def _escaped(character: str, quote: str) -> str:
    if character in (quote, "\\"):
        return f"\\{character}"
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    # What `repr` calls printable depends on the Python it runs on; this does not.
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if any(code in unseen for unseen in _UNSEEN) else character
