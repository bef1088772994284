"""Replacing spans of a file's text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flowx_compiler.syntax import Span


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """One replacement; an empty span inserts."""

    file: str
    span: Span
    text: str


def apply_edits(lines: Sequence[str], edits: Iterable[Edit]) -> str:
    """The text after all edits; of two that overlap, the first is made and the other waits for the next run."""
    text = list(lines)
    made: list[Edit] = []
    for edit in sorted(set(edits)):
        if not made or _end(made[-1].span) <= _start(edit.span):
            made.append(edit)
    for edit in reversed(made):
        span = edit.span
        before = text[span.line - 1][: span.column - 1]
        after = text[span.end_line - 1][span.end_column - 1 :]
        text[span.line - 1 : span.end_line] = (before + edit.text + after).split("\n")
    return "\n".join(text)


def after(span: Span) -> Span:
    """The empty span behind another."""
    return Span(span.end_line, span.end_column, span.end_line, span.end_column)


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _end(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column
