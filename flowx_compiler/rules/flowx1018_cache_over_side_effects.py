"""A cache over a capability that changes something.

What it detects: `with_policy` with a `cache` on a step whose capability declares side effects.

Why it matters: A hit answers "done" without doing it.

When to suppress: Never: split the read from the effect and cache the read, or correct the declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.policies import uses_of
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1018", "cache-over-side-effects", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).with_policy(REMEMBERED).compensate_with(release_inventory)  # <-
""",
        module="""\
from flowx_runtime import Cache, PolicySet

REMEMBERED: Final = PolicySet("remembered", cache=Cache("PT5M"))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order).with_policy(REMEMBERED)
""",
        module="""\
from flowx_runtime import Cache, PolicySet

REMEMBERED: Final = PolicySet("remembered", cache=Cache("PT5M"))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every cached step that has side effects."""
    for use in uses_of(program, "cache"):
        policy, capability = use.policy, use.capability
        if capability.side_effects:
            yield RULE.finding(
                use.place,
                f"{capability.id!r} changes {', '.join(capability.side_effects)}, and a cached answer does not",
                label="a hit does nothing",
                help="split the read from the effect, and cache the read",
                related=(Related(policy.place, "the cache"), Related(capability.place, "its side effects")),
            )
