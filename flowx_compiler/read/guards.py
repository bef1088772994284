"""Sources that must not reach the parser: it would end the process, or never answer."""

from __future__ import annotations

import re

LONGEST_CHAIN = 1000
"""Calls in one expression. LibCST's native parser overflows its stack at about 3 160 and is quadratic before."""
DEEPEST_NESTING = 150
"""Brackets inside brackets. Deeper than any hand writes; the parser recurses once per level."""

_TOKENS = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<string>[rRbBuUfFtT]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"))"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)|(?P<operator>\.(?=\s*[A-Za-z_])|[-+*/%@&|^~]|\b(?:and|or|not|if|else|in|is|lambda|await)\b)",
    re.DOTALL,
)


def too_complex(text: str) -> tuple[int, str] | None:
    """The line and the reason where one expression is longer or deeper than the parser takes; else `None`."""
    depth = line = 1
    depth = 0
    counts = [0]
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "newline":
            line += 1
            if depth == 0:
                counts[0] = 0
        elif kind == "open":
            depth += 1
            counts.append(0)
            if depth > DEEPEST_NESTING:
                return line, f"brackets are nested more than {DEEPEST_NESTING} deep"
        elif kind == "close":
            if depth:
                depth -= 1
                counts.pop()
        elif kind == "operator":
            counts[-1] += 1
            if counts[-1] > LONGEST_CHAIN:
                return line, f"one expression has more than {LONGEST_CHAIN} calls or operators in a row"
        elif kind == "string":
            line += match[0].count("\n")
    return None


def comment_starts(text: str) -> list[tuple[int, int]]:
    """(line, column) of every comment, from 1."""
    found = []
    line, line_start = 1, 0
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "comment":
            found.append((line, match.start() - line_start + 1))
        elif kind == "newline":
            line += 1
            line_start = match.end()
        elif kind == "string" and "\n" in match[0]:
            line += match[0].count("\n")
            line_start = match.start() + match[0].rindex("\n") + 1
    return found
