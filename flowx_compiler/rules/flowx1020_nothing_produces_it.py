"""A step that binds what nothing produces.

What it detects: a step, poll or `ctx.get(…)` whose contract is neither the flow's input nor left by
anything before it, on any path. Types match exactly: a subclass is another slot.

Why it matters: The lookup fails on every run.

What it cannot prove: a value that is there on some paths only (1050 and 1063 speak of two such
cases).

When to suppress: Never needed: reorder the steps, or give the step a map.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.slots import Use, uses
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1020", "nothing-produces-it", ERROR)

INVALID = (
    Example(
        """\
flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line))
flow.when(lambda ctx: len(ctx.results(Shipment)) > 0, lambda b: b.step(open_review))  # <-
""",
    ),
    Example(
        """\
flow.step(validate_order)
flow.step(ship_parcel)  # <-
""",
    ),
    Example(
        """\
flow.step(validate_order)
flow.when(lambda ctx: ctx.get(Capture).reference == "", lambda b: b.step(open_review))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
flow.step(capture_payment).compensate_with(refund_payment)
flow.step(ship_parcel)
""",
    ),
    Example(
        """\
flow.when(lambda ctx: ctx.input.express, lambda b: b.step(start_job)).otherwise(lambda b: b.step(start_job))
flow.step(job_status)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every take of a slot that nothing before it ever fills."""
    for flow in program.flows.values():
        if not flow.is_sound:
            continue
        for use in uses(program, flow):
            if use.presence is None:
                yield _finding(use)


def _finding(use: Use) -> Finding:
    wanted = use.contract.rpartition(".")[2]
    available = ", ".join(name.rpartition(".")[2] for name in use.available)
    if use.is_gathered:
        return RULE.finding(
            use.place,
            f"{use.taker} reads the results {wanted} of a loop, which no loop before it leaves; "
            + (f"loops leave {available}" if available else "there is no loop before it"),
            label="always empty",
            help="name what a step inside `.for_each(…)` gives, or use `ctx.get(…)` for a single value",
        )
    verb = "binds" if use.is_bound else "reads"
    return RULE.finding(
        use.place,
        f"{use.taker} {verb} {wanted}, which nothing before it produces; there is {available}",
        label=f"no {wanted} here",
        help="move the step that produces it before this one"
        + (", or build the request: `.step(…, lambda ctx: …)`" if use.is_bound else ""),
    )
