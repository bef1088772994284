"""A fallback that is not what the step leaves.

What it detects: `with_policy` with a `fallback` whose constant is made of another class than the result contract of
the step's capability.

Why it matters: The steps after this one look for that contract, and find nothing when the capability fails.

When to suppress: The class is a subclass of the contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.policies import uses_of
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1052", "fallback-of-another-type", ERROR)

INVALID = (
    Example(
        """\
flow.step(validate_order).with_policy(OR_NOTHING)  # <-
""",
        module="""\
from flowx_runtime import Fallback, PolicySet

OR_NOTHING: Final = PolicySet("or-nothing", fallback=Fallback(value=ManualReview(ticket="none")))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(ask).with_policy(OR_NOTHING)
""",
        module="""\
from flowx_runtime import Fallback, PolicySet

OR_NOTHING: Final = PolicySet("or-nothing", fallback=Fallback(value=ManualReview(ticket="none")))


@capability("example.ask", version="1.0.0", authorization=Internal(), idempotent=True)
async def ask(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every fallback that leaves something else."""
    for use in uses_of(program, "fallback"):
        policy, capability = use.policy, use.capability
        found = policy.fallback_type
        if found is not None and found in program.contracts and found != capability.result.name:
            yield RULE.finding(
                use.place,
                f"the fallback is a {found.rpartition('.')[2]}, and {capability.id!r} leaves"
                f" {capability.result.name.rpartition('.')[2]}",
                label="the steps after this one find nothing",
                help="make the fallback of the capability's result contract",
                related=(Related(policy.place, "the fallback"), Related(capability.place, "declared here")),
            )
