"""An option that is not one of its values.

What it detects: `merge`, `mode` or `continue_on_error` that is not a literal member of its set.

Why it matters: The plan carries the value; an expression could give another in another environment.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1228", "not-a-member", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.parallel(open_review, start_job, merge="all")  # <-
""",
    ),
)

VALID = (
    Example(
        "flow.parallel(open_review, start_job, merge=Merge.ALL_SETTLED)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
