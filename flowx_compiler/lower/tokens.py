"""Splits source text into tokens.

The standard tokenizer gives an f-string as one token up to Python 3.11 and as many from 3.12 on, and refuses on the
older one what the newer one accepts. A build must give the same bytes on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SPACE = re.compile(r"(?:[ \t\f\r\n]|\\\r?\n|#[^\n]*)+")
_STRING = re.compile(r"(?P<prefix>[rR][bBfFtT]|[bBfFtT][rR]|[rRbBuUfFtT]|)(?P<quote>'''|\"\"\"|'|\")")
_NUMBER = re.compile(r"0[xXoObB]\w+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?")
_NAME = re.compile(r"\w+")
_OPERATOR = re.compile(r"\.\.\.|\*\*=|//=|>>=|<<=|\*\*|//|>>|<<|:=|->|[-+*/%@&|^=!<>]=|.")


class Token(NamedTuple):
    """One token; comments and layout are none."""

    kind: str
    """`"name"` (keywords too), `"number"`, `"string"` (f-strings too) or `"operator"`."""
    text: str
    start: int
    """Where it begins in the text."""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of valid source text."""
    position = 0
    while position < len(text):
        if space := _SPACE.match(text, position):
            position = space.end()
            continue
        kind, end = _token(text, position)
        yield Token(kind, text[position:end], position)
        position = end


def _token(text: str, start: int) -> tuple[str, int]:
    if opening := _STRING.match(text, start):
        return "string", _end_of_string(text, opening)
    if number := _NUMBER.match(text, start):
        return "number", number.end()
    if name := _NAME.match(text, start):
        return "name", name.end()
    operator = _OPERATOR.match(text, start)
    assert operator is not None, "any character is an operator at worst"
    return "operator", operator.end()


def _end_of_string(text: str, opening: re.Match[str]) -> int:
    has_fields = any(letter in opening["prefix"].lower() for letter in "ft")
    quote = opening["quote"]
    position = opening.end()
    while position < len(text) and not text.startswith(quote, position):
        if text[position] == "\\" or (has_fields and text.startswith("{{", position)):
            position += 2
        elif has_fields and text[position] == "{":
            position = _end_of_field(text, position + 1)
        else:
            position += 1
    return position + len(quote)


def _end_of_field(text: str, position: int) -> int:
    """Where a replacement field ends, given where its expression begins."""
    depth = 0
    while position < len(text):
        character = text[position]
        if depth == 0 and character == "}":
            return position + 1
        if depth == 0 and character == ":":
            return _end_of_format(text, position + 1)
        if opening := _STRING.match(text, position):
            position = _end_of_string(text, opening)
            continue
        if name := _NAME.match(text, position):
            position = name.end()
            continue
        depth += (character in "([{") - (character in ")]}")
        position += 1
    return position


def _end_of_format(text: str, position: int) -> int:
    while position < len(text) and text[position] != "}":
        position = _end_of_field(text, position + 1) if text[position] == "{" else position + 1
    return position + 1
