"""One line of source with a part of it underlined, safe to print on any terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from flowx_compiler.syntax import Span

TAB = 4
WIDTH = 150
"""Longer lines are cut around what is underlined."""
_ROOM_BEFORE = 30


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line as shown, and where to underline it, in terminal cells."""

    text: str
    start: int
    length: int


def mark(line: str, span: Span) -> MarkedLine:
    """Show a span's first line; a span of several lines is underlined to the end of it."""
    first = span.column - 1
    last = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    line, first, last = _cut(line, first, max(last, first + 1))
    before, marked, after = (_shown(part) for part in (line[:first], line[first:last], line[last:]))
    return MarkedLine((before + marked + after).rstrip(), _cells(before), max(_cells(marked), 1))


def _cut(line: str, first: int, last: int) -> tuple[str, int, int]:
    if len(line) <= WIDTH:
        return line, first, last
    begin = max(0, min(first - _ROOM_BEFORE, len(line) - WIDTH))
    text = line[begin : begin + WIDTH]
    if begin:
        text = f"…{text[1:]}"
    if begin + WIDTH < len(line):
        text = f"{text[:-1]}…"
    return text, first - begin, min(last - begin, WIDTH)


def _shown(text: str) -> str:
    """A control character in a source file must not control the reader's terminal."""
    text = text.replace("\t", " " * TAB)
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cf") else char for char in text)


def _cells(text: str) -> int:
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
