"""A case that never matches.

What it detects: a `case` value that an earlier case of the same switch has.

Why it matters: The first match wins, so the block never runs.

When to suppress: Never needed: take the case away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1227", "duplicate-case", WARNING)

INVALID = (
    Example(
        """\
(
    flow.switch(lambda ctx: ctx.input.total)
    .case(1, lambda b: b.step(open_review))
    .case(1, lambda b: b.step(start_job))  # <-
)
""",
    ),
)

VALID = (
    Example(
        """\
(
    flow.switch(lambda ctx: ctx.input.total)
    .case(1, lambda b: b.step(open_review))
    .case(2, lambda b: b.step(start_job))
)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
