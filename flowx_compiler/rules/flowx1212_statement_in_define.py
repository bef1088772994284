"""A statement that a definition cannot have.

What it detects: an assignment, `if`, loop, `try`, `with`, `match`, import, or any expression that
is no chain of builder calls, in `define` or in a block function.

Why it matters: A definition is read and never run: a loop in it would repeat nothing, an `if`
decide nothing.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1212", "statement-in-define", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
for _ in range(3):  # <-
    flow.step(open_review)
""",
    ),
    Example(
        """\
limit = 100  # <-
flow.step(validate_order)
""",
    ),
    Example(
        """\
if True:  # <-
    flow.step(open_review)
""",
    ),
    Example(
        """\
print("hello")  # <-
""",
    ),
)

VALID = (
    Example(
        """\
"What this flow does."
flow.step(validate_order).step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
