"""The nodes of a piece of code, found once: dozens of rules look at the same bodies for different things."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.model import Program
from flowx_compiler.syntax import Call, walk


def nodes(program: Program, part: object) -> tuple[object, ...]:
    """Every node below a piece of syntax, as `walk` gives them."""
    kept = program.walked.get(id(part))
    if kept is None:
        # The part is kept too: what is held has an identity that nothing else can get.
        kept = program.walked[id(part)] = (part, tuple(walk(part)))
    return kept[1]


def calls_in(program: Program, part: object) -> Iterator[Call]:
    """Every call below a piece of syntax, outer before inner, in source order."""
    return (node for node in nodes(program, part) if isinstance(node, Call))
