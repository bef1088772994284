"""Arguments that are not written out.

What it detects: `*` or `**` in a builder call or decorator.

Why it matters: What is in the collection is known when it runs, and a definition never does.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1213", "starred-argument", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.parallel(*BRANCHES)  # <-",
        module="BRANCHES = (open_review, start_job)",
    ),
)

VALID = (
    Example(
        "flow.parallel(open_review, start_job)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
