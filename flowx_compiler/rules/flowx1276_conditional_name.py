"""A name whose meaning is decided at run time.

What it detects: a capability, contract or constant that is bound in several branches of an `if` or
`try`.

Why it matters: What the plan calls must be the same on every machine.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1276", "conditional-name", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(chosen)  # <-",
        module="""\
try:
    from shop import open_review as chosen
except ImportError:
    from shop import start_job as chosen
""",
    ),
)

VALID = (
    Example(
        "flow.step(validate_order)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
