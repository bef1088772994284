"""Pieces of an author's source text: names replaced by position, lines moved sideways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowx_compiler.lower.tokens import tokens
from flowx_compiler.syntax import Span


def slice_text(lines: Sequence[str], span: Span, replacements: Iterable[tuple[Span, str]] = ()) -> str:
    """The text of a span, with the text of inner spans replaced."""
    edits = sorted(replacements, key=lambda edit: (edit[0].line, edit[0].column), reverse=True)
    piece = {number: lines[number - 1] for number in range(span.line, span.end_line + 1)}
    piece[span.end_line] = piece[span.end_line][: span.end_column - 1]
    for inner, text in edits:
        # A dotted path may be broken over lines; what follows it moves up to where it began.
        before = piece[inner.line][: inner.column - 1]
        after = piece[inner.end_line][inner.end_column - 1 :]
        piece[inner.line] = before + text + after
        for number in range(inner.line + 1, inner.end_line + 1):
            piece[number] = ""
    first = piece[span.line][span.column - 1 :]
    return "\n".join([first, *(piece[number] for number in range(span.line + 1, span.end_line + 1))])


def reindented(text: str, indent: str) -> str:
    """Statements moved so that the outermost stand at an indent; lines inside a string stay as they are."""
    inside = _lines_inside_strings(text)
    lines = text.split("\n")
    depths = [
        len(line) - len(line.lstrip())
        for number, line in enumerate(lines)
        if number not in inside and line.strip() and not line.lstrip().startswith("#")
    ]
    depth = min(depths, default=0)
    moved: list[str] = []
    for number, line in enumerate(lines):
        if number in inside:
            moved.append(line)
        elif not line.strip():
            moved.append("")
        else:
            own = len(line) - len(line.lstrip())
            moved.append(indent + line[min(depth, own) :])
    return "\n".join(moved)


def _lines_inside_strings(text: str) -> frozenset[int]:
    """The lines, counted from 0, that begin inside a string."""
    found: set[int] = set()
    for token in tokens(text):
        if token.kind == "string" and "\n" in token.text:
            first = text.count("\n", 0, token.start)
            found |= {first + number for number in range(1, token.text.count("\n") + 1)}
    return frozenset(found)
