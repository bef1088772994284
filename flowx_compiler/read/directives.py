"""`# flowx: ignore[ID, …] reason` comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowx_compiler.syntax import Directive, Span

_DIRECTIVE = re.compile(r"#\s*flowx:\s*ignore\[(?P<ids>[^\]]*)\](?P<reason>[^#]*)")


def find_directives(lines: Sequence[str], comment_starts: Sequence[tuple[int, int]]) -> tuple[Directive, ...]:
    """The directives among a file's comments.

    Args:
        lines: the file's lines.
        comment_starts: (line, column) of every comment, so that a directive inside a string is none.
    """
    found = []
    for line, column in comment_starts:
        text = lines[line - 1]
        for match in _DIRECTIVE.finditer(text, column - 1):
            ids = tuple(item.strip() for item in match["ids"].split(",") if item.strip())
            span = Span(line, match.start() + 1, line, match.end() + 1)
            own_line = not text[: column - 1].strip()
            found.append(Directive(ids, match["reason"].strip(" -:\t"), span, own_line))
    return tuple(found)
