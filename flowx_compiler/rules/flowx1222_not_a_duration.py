"""A wait that is not a duration.

What it detects: a number, or a text that is not ISO-8601 of days at most, where a duration is
meant.

Why it matters: 3600 of what? A bare number has no unit, and months and years have no fixed length.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1222", "not-a-duration", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.delay(3600)  # <-",
    ),
    Example(
        """\
flow.delay("1h")  # <-
""",
    ),
    Example(
        """\
flow.delay("P1M")  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.delay("PT1H")
""",
    ),
    Example(
        "flow.delay(timedelta(hours=1))",
        module="from datetime import timedelta",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
