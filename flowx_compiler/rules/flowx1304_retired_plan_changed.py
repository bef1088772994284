"""A retired plan that would not do any more what it did.

What it detects: a plan of an earlier version that imports a name which is not there any more, or reads a constant, a
helper or a member of a contract that does not mean what it did when the plan was built. Only `flowx build` looks for
it. Pre-release versions (`1.1.0-dev.1`) are not held to anything.

Why it matters: A retired plan stays for the instances that started under it, and it imports what it reads from the
code of today. An instance that took one way before it parked is walked again when it is resumed: with another limit it
takes the other way, and what it did is done once more or is missing. With a name gone the plan cannot be loaded at all.

Let the former meaning keep its name beside the new one until the plan is pruned:

    LIMIT: Final = 100
    LIMIT_1_1: Final = 200

When to suppress: When no open instance of that version can come to the changed code, on the line of the plan. The
comment stays: a retired plan is not written again.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1304", "retired-plan-changed", ERROR, is_safety=True)

_BEFORE = """\
flow.step(validate_order)
flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))
"""

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))
""",
        decorator='@flow("example.flow", version="1.1.0", profile=Profile.DURABLE, deadline="P30D")',
        module="LIMIT: Final = 200  # <-",
        before=_BEFORE,
        module_before="LIMIT: Final = 100",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.when(lambda ctx: ctx.input.total > LIMIT_1_1, lambda b: b.step(open_review))
""",
        decorator='@flow("example.flow", version="1.1.0", profile=Profile.DURABLE, deadline="P30D")',
        module="LIMIT: Final = 100\nLIMIT_1_1: Final = 200",
        before=_BEFORE,
        module_before="LIMIT: Final = 100",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """What building found out: plans on disk are compared after the rules have spoken."""
    return RULE.problems(program)
