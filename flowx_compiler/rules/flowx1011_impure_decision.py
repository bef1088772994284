"""A decision that reads something else than the flow's state.

What it detects: a predicate, selector, map or projection that reads a clock, randomness, an id
generator, the environment or a file, or depends on the order of a set, itself or through functions of
the project and members of its classes: an error in a durable flow, a warning elsewhere.

Why it matters: A resumed flow evaluates it again. If it answers differently, the instance goes on
down another path than the one its rows record.

What it cannot prove: what a library does inside; a helper of a package that is not part of the
project is not followed.

When to suppress: In an ephemeral flow, where nothing is evaluated twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import ambient_reads
from flowx_compiler.check.predicates import data_functions
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule

RULE = Rule("FLOWX1011", "impure-decision", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.when(
    lambda ctx: datetime.now(tz=timezone.utc).hour < 12,  # <-
    lambda b: b.step(open_review),
)
""",
        module="from datetime import datetime, timezone",
    ),
    Example(
        """\
flow.step(validate_order)
flow.when(lambda ctx: now().hour < 12, lambda b: b.step(open_review))  # <-
""",
        module="import datetime as d\n\nnow = d.datetime.now\n",
    ),
    Example(
        """\
flow.step(choose)
flow.for_each(lambda ctx: ctx.get(Choice).listed, lambda line: line.step(reserve_line))  # <-
""",
        module="""\
class Choice(Contract):
    lines: frozenset[Line]

    @property
    def listed(self) -> tuple[Line, ...]:
        return tuple(self.lines)


@capability("example.choose", version="1.0.0", authorization=Internal(), idempotent=True)
async def choose(request: PlaceOrder, ctx: StepContext) -> Choice:
    return Choice(lines=frozenset(request.lines))
""",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.utc_now.hour < 12, lambda b: b.step(open_review))",
    ),
    Example(
        """\
flow.step(choose)
flow.for_each(lambda ctx: ctx.get(Choice).listed, lambda line: line.step(reserve_line))
""",
        module="""\
class Choice(Contract):
    lines: frozenset[Line]

    @property
    def listed(self) -> tuple[Line, ...]:
        return tuple(sorted(self.lines, key=lambda line: line.sku))


@capability("example.choose", version="1.0.0", authorization=Internal(), idempotent=True)
async def choose(request: PlaceOrder, ctx: StepContext) -> Choice:
    return Choice(lines=frozenset(request.lines))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every ambient read below a data function."""
    for flow in program.flows.values():
        seen: set[Place] = set()
        for function in data_functions(flow):
            for read in ambient_reads(program, flow, function):
                if read.place in seen:
                    continue
                seen.add(read.place)
                yield RULE.finding(
                    read.place,
                    f"`{read.name}` is {read.kind}: evaluated again after a resume, it may answer differently",
                    label=f"not part of the state of {flow.id!r}",
                    help=read.instead,
                    related=tuple(Related(place, "called from here") for place in read.trace[:5]),
                    severity=ERROR if flow.is_durable else WARNING,
                )
