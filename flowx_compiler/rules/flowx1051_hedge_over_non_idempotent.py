"""A hedge over a capability that must not be called twice.

What it detects: `with_policy` with a `hedge` on a step whose capability does not declare `idempotent=True`, or has
steps of its own that run once.

Why it matters: Two calls are out at once under one key, and the answer that is kept may be the one whose effect lost.

When to suppress: Never: declare idempotence where it is true, or use a timeout and a retry.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_steps import has_steps
from flowx_compiler.check.policies import uses_of
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1051", "hedge-over-non-idempotent", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).with_policy(TWICE).compensate_with(release_inventory)  # <-
""",
        module="""\
from flowx_runtime import Hedge, PolicySet

TWICE: Final = PolicySet("twice", hedge=Hedge(after="PT1S"))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review).with_policy(TWICE)
""",
        module="""\
from flowx_runtime import Hedge, PolicySet

TWICE: Final = PolicySet("twice", hedge=Hedge(after="PT1S"))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every hedged step whose answers are not interchangeable."""
    for use in uses_of(program, "hedge"):
        policy, capability = use.policy, use.capability
        if not capability.idempotent or has_steps(program, capability):
            why = "has steps of its own" if capability.idempotent else "is not idempotent"
            yield RULE.finding(
                use.place,
                f"a hedge calls {capability.id!r} twice at once, and it {why}",
                label="both may do their work",
                help="declare `idempotent=True` where it is true, or use a timeout and a retry",
                related=(Related(policy.place, "the hedge"), Related(capability.place, "declared here")),
            )
