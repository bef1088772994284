"""Flows that compose each other in a circle.

What it detects: sub-flow calls, in any block, that lead from a flow back to it. Every flow on the
circle is reported, at its name.

Why it matters: A run would start runs without end, until a deadline or a limit of depth blames an
innocent step.

When to suppress: Never: make what both need a third flow, or let one give its result back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from flowx_compiler.check.reach import sub_flows
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1021", "sub-flow-cycle", ERROR)

INVALID = (
    Example(
        """\
flow.sub_flow(Example, lambda ctx: ctx.input)
""",
        header="class Example(Flow[PlaceOrder, OrderResult]):  # <-",
    ),
)

VALID = (
    Example(
        """\
flow.sub_flow(Other, lambda ctx: ctx.input)
""",
        module="""\
@flow("example.other", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Other(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(open_review)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every flow that leads back to itself, with the shortest way."""
    calls = {name: sorted({call.flow for call in sub_flows(flow)}) for name, flow in program.flows.items()}
    for name, flow in program.flows.items():
        way = _way_back(calls, name)
        if way is not None:
            path = " → ".join(program.flows[step].id for step in way)
            yield RULE.finding(
                flow.name_place,
                f"{flow.id!r} composes itself: {path}",
                label="a run would start itself without end",
                help="make what they share a third flow, or end the circle with a result",
            )


def _way_back(calls: dict[str, list[str]], start: str) -> list[str] | None:
    ways = deque([[start]])
    seen: set[str] = set()
    while ways:
        way = ways.popleft()
        for following in calls.get(way[-1], ()):
            if following == start:
                return [*way, start]
            if following in calls and following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return None
