"""A policy that is no policy set.

What it detects: `with_policy` given anything but the name of a module-level `PolicySet`.

Why it matters: A policy has one name and one place where it is read.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1249", "not-a-policy", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(open_review).with_policy(JITTERED)  # <-",
    ),
)

VALID = (
    Example(
        "flow.step(open_review).with_policy(SAFE_RETRY)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
