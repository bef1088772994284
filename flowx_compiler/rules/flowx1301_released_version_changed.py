"""A released version of a flow that means something else than it did.

What it detects: a flow whose plan differs from the one of the same version in the manifest that is committed
(git's `HEAD`). Only `flowx build` looks for it: it compares digests of plans, so that moved lines, comments and
renamed locals are no change.

Why it matters: An instance is pinned to the plan it started under. When that plan is replaced by another one of the
same version, every instance that is parked somewhere in it can never go on: the nodes refuse to walk its history with
a plan that did not make it. Under a new version the former plan stays beside the new one, and instances end as they
began.

A version that still changes carries a pre-release: `1.1.0-dev.1` is not held to anything.

When to suppress: When no instance of that version was ever started anywhere, on the flow's class.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1301", "released-version-changed", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")  # <-',
        before="""\
flow.step(validate_order)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
        decorator='@flow("example.flow", version="1.1.0", profile=Profile.DURABLE, deadline="P30D")',
        before="""\
flow.step(validate_order)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """What building found out: plans are made after the rules have spoken."""
    return RULE.problems(program)
