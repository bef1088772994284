"""An id or random value taken from outside the run.

What it detects: in a capability, in a flow class outside the lambdas of `define`, or as a default
of a contract, a call of or reference to an id generator or a source of randomness: `uuid4`,
`random.*`, `secrets.*`, `os.urandom`. An error where a durable flow comes to it, a warning
elsewhere.

Why it matters: A second attempt makes another id, while the run's idempotency key stays the same: a
provider that tells requests apart by that id performs the effect twice.

What it cannot prove: ids that a helper, library or injected object makes; ids copied from the
input, which are fine.

When to suppress: A secret that must be unpredictable, made behind a port and never put into a
result.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import RANDOM
from flowx_compiler.check.ambient_sites import ambient_sites
from flowx_compiler.check.reach import journaled
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule

RULE = Rule("FLOWX1008", "ambient-identity", WARNING)

INVALID = (
    Example(
        """\
flow.step(tag)
""",
        module="""\
from uuid import uuid4


@capability("example.tag", version="1.0.0", authorization=Internal(), idempotent=True)
async def tag(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=str(uuid4()))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(tag)
""",
        module="""\
@capability("example.tag", version="1.0.0", authorization=Internal(), idempotent=True)
async def tag(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=str(ctx.new_id()))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every such read in a capability or a flow class, and in the defaults of contracts."""
    reached = journaled(program)
    for site in ambient_sites(program, RANDOM):
        flow = next((reached[name] for name in site.owners if name in reached), None)
        yield RULE.finding(
            site.place,
            f"{site.owner} reads `{site.name}`: another attempt gets another value",
            label="different on every attempt",
            help="use `ctx.idempotency_key` towards a provider, `ctx.new_id()` or `ctx.random` for the rest",
            related=() if flow is None else (Related(flow.name_place, "this durable flow comes here"),),
            severity=WARNING if flow is None else ERROR,
        )
