"""Sources that must not reach the parser: it would end the process, or never answer."""

from __future__ import annotations

import re

LONGEST_CHAIN = 600
"""Calls in one expression. LibCST's native parser overflows its stack at about 3 160 and is quadratic before."""
DEEPEST_NESTING = 150
"""Brackets inside brackets. Deeper than any hand writes; the parser recurses once per level."""

_TOKENS = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<string>(?P<prefix>[rRbBuUfFtT]{0,2})(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"))"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)|(?P<operator>\.(?=\s*[A-Za-z_])|[-+*/%@&|^~]|\b(?:and|or|not|if|else|in|is|lambda|await)\b)",
    re.DOTALL,
)
_REPLACEMENT_FIELD = re.compile(r"\{([^{}]*)\}")


def too_complex(text: str) -> tuple[int, str] | None:
    """The line and the reason where one expression is longer or deeper than the parser takes; else `None`."""
    line, depth, closed_at = 1, 0, -1
    counts = [0]
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "newline":
            line += 1
            if depth == 0:
                counts[0] = 0
        elif kind == "open":
            if closed_at >= 0 and not text[closed_at : match.start()].strip():
                counts[-1] += 1  # `f(a)(b)`, `rows[0][1]`: a link of a chain that has no dot
            depth += 1
            counts.append(0)
            if depth > DEEPEST_NESTING:
                return line, f"brackets are nested more than {DEEPEST_NESTING} deep"
        elif kind == "close":
            closed_at = match.end()
            if depth:
                depth -= 1
                counts.pop()
        elif kind == "operator":
            counts[-1] += 1
        elif kind == "string":
            if "f" in match["prefix"].lower() or "t" in match["prefix"].lower():
                for field in _REPLACEMENT_FIELD.finditer(match[0]):
                    found = too_complex(field[1])
                    if found is not None:
                        return line, found[1]
            line += match[0].count("\n")
        if counts[-1] > LONGEST_CHAIN or (len(counts) > 1 and counts[-2] > LONGEST_CHAIN):
            return line, f"one expression has more than {LONGEST_CHAIN} calls or operators in a row"
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
