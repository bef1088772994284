"""A fallback over a capability that changes something.

What it detects: `with_policy` with a `fallback` on a step whose capability declares side effects.

Why it matters: The step counts as done without its effect, or with half of it, and a degraded step is never undone.

When to suppress: Never: degrade the read before the effect, or branch.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.policies import uses_of
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1053", "fallback-over-side-effects", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).with_policy(OR_NOTHING).compensate_with(release_inventory)  # <-
""",
        module="""\
from flowx_runtime import Fallback, PolicySet

OR_NOTHING: Final = PolicySet("or-nothing", fallback=Fallback(value=Reservation(reservation_id="none")))
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
    """Every fallback that would hide a missing effect."""
    for use in uses_of(program, "fallback"):
        policy, capability = use.policy, use.capability
        if capability.side_effects:
            yield RULE.finding(
                use.place,
                f"{capability.id!r} changes {', '.join(capability.side_effects)}, and its fallback changes nothing",
                label="counts as done without its effect",
                help="degrade the read before the effect, or branch",
                related=(Related(policy.place, "the fallback"), Related(capability.place, "its side effects")),
            )
