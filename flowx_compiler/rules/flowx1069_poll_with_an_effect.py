"""A poll that changes something each time it asks.

What it detects: `poll_until` given an idempotent capability that declares side effects.

Why it matters: A poll asks as often as its budget allows. An effect that may be repeated is still
repeated, up to hundreds of times.

When to suppress: The effect is the way that system is asked, and it does not mind.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1069", "poll-with-an-effect", WARNING)

INVALID = (
    Example(
        """\
flow.poll_until(
    poke,  # <-
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
        module="""\
@capability("example.poke", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("provider",))
async def poke(request: PlaceOrder, ctx: StepContext) -> JobStatus:
    return JobStatus(job_id="j", state="done")
""",
    ),
)

VALID = (
    Example(
        """\
flow.poll_until(
    poke,
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
        module="""\
@capability("example.poke", version="1.0.0", authorization=Internal(), idempotent=True)
async def poke(request: PlaceOrder, ctx: StepContext) -> JobStatus:
    return JobStatus(job_id="j", state="done")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every poll of an idempotent capability with effects; 1044 speaks of the others."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            if not isinstance(construct, model.Poll):
                continue
            capability = construct.capability.capability
            if capability.side_effects and capability.idempotent:
                yield RULE.finding(
                    construct.capability.place,
                    f"`poll_until` repeats {capability.id!r}, which changes {', '.join(capability.side_effects)}",
                    label="once per attempt",
                    help="start the work in a step, and poll a capability that only reads",
                    related=(Related(capability.place, "declared here with side effects"),),
                )
