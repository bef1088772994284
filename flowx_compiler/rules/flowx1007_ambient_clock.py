"""A clock read from the machine.

What it detects: in a capability, in a flow class outside the lambdas of `define`, or as a default
of a contract, a call of or reference to a clock: `datetime.now`, `date.today`, `time.time`,
`time.monotonic` and their kin. An error where a durable flow comes to it, a warning elsewhere.

Why it matters: The journal records the instant that the context gives. A value from another clock
is in no row, so a test cannot set it and a resumed run cannot repeat it.

What it cannot prove: a clock that a helper, library or injected object reads.

When to suppress: The value never becomes part of a result: a metric, a probe, a log line.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import CLOCK
from flowx_compiler.check.ambient_sites import ambient_sites
from flowx_compiler.check.reach import journaled
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule

RULE = Rule("FLOWX1007", "ambient-clock", WARNING)

INVALID = (
    Example(
        """\
flow.step(stamp)
""",
        module="""\
from datetime import datetime, timezone


@capability("example.stamp", version="1.0.0", authorization=Internal(), idempotent=True)
async def stamp(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=datetime.now(tz=timezone.utc).isoformat())  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(stamp)
""",
        module="""\
@capability("example.stamp", version="1.0.0", authorization=Internal(), idempotent=True)
async def stamp(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=ctx.utc_now.isoformat())
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every such read in a capability or a flow class, and in the defaults of contracts."""
    reached = journaled(program)
    for site in ambient_sites(program, CLOCK):
        flow = next((reached[name] for name in site.owners if name in reached), None)
        yield RULE.finding(
            site.place,
            f"{site.owner} reads `{site.name}`: the journal records another instant",
            label="not the instant the row records",
            help="use `ctx.utc_now`",
            related=() if flow is None else (Related(flow.name_place, "this durable flow comes here"),),
            severity=WARNING if flow is None else ERROR,
        )
