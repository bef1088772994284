"""An undo, policy or name where no step takes it.

What it detects: `compensate_with`, `with_policy` or `named` anywhere but directly after a `step`
(or `named` after a `sub_flow`), or twice on one step.

Why it matters: A poll runs an unbounded number of times and a wait has no effect of its own:
neither can be undone, and an undo that is ignored is money lost.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1202", "step-detail-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.delay("PT1H").compensate_with(close_review)  # <-
""",
    ),
    Example(
        """\
flow.step(open_review).named("a").named("b")  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review).named("review").compensate_with(close_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
