"""Pieces of an author's source text, with names replaced by position."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Sequence

from flowx_compiler.syntax import Span

_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT})


def slice_text(lines: Sequence[str], span: Span, replacements: Iterable[tuple[Span, str]] = ()) -> str:
    """The text of a span, with the text of inner spans replaced."""
    edits = sorted(replacements, key=lambda edit: (edit[0].line, edit[0].column), reverse=True)
    piece = {number: lines[number - 1] for number in range(span.line, span.end_line + 1)}
    piece[span.end_line] = piece[span.end_line][: span.end_column - 1]
    for inner, text in edits:
        line = piece[inner.line]
        piece[inner.line] = line[: inner.column - 1] + text + line[inner.end_column - 1 :]
    first = piece[span.line][span.column - 1 :]
    return "\n".join([first, *(piece[number] for number in range(span.line + 1, span.end_line + 1))])


def one_line(text: str) -> str:
    """An expression's text on one line: comments dropped, line ends and their indentation turned into spaces."""
    if "\n" not in text and "#" not in text:
        return text
    tokens = [token for token in _tokens(f"({text})") if token.type not in _LAYOUT and token.type != tokenize.ENDMARKER]
    written = ""
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and (before.end[0] != token.start[0] or before.end[1] != token.start[1]):
            gap = " " if _needs_space(before, token) else ""
            written += gap
        written += token.string
    return written[1:-1].rstrip(",") if written.endswith(",)") and not _is_tuple(text) else written[1:-1]


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _needs_space(before: tokenize.TokenInfo, after: tokenize.TokenInfo) -> bool:
    if before.string in "([{" or after.string in ")]}":
        return False
    return not (before.end[0] != after.start[0] and after.string == ".")


def _is_tuple(text: str) -> bool:
    return text.rstrip().endswith(",")
