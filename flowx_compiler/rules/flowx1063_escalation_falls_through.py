"""An escalation that goes on as if nothing had happened.

What it detects: an `on_timeout` block that does not end in `fail`, while a later step or projection
binds what only the other path leaves.

Why it matters: Both paths rejoin after the block. The one that ran out of time then looks for a
value that never came.

When to suppress: The later step really runs on both paths and copes; say how.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.slots import Cause, Sometimes, uses
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1063", "escalation-falls-through", WARNING)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda late: late.step(open_review))  # <-
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.get(PaymentConfirmed).reference))
""",
    ),
)

VALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.get(PaymentConfirmed).reference))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every wait whose late path lacks what a later take needs; once per wait."""
    for flow in program.flows.values():
        if not flow.is_sound:
            continue
        blocks = {
            construct.place: construct.on_timeout
            for construct in constructs(flow.body)
            if isinstance(construct, model.AwaitSignal | model.Poll) and construct.on_timeout is not None
        }
        reported: set[Place] = set()
        for use in uses(program, flow):
            match use.presence:
                case Sometimes(cause=Cause.TIMEOUT, place=place) if place in blocks and place not in reported:
                    reported.add(place)
                    wanted = use.contract.rpartition(".")[2]
                    yield RULE.finding(
                        blocks[place].place,
                        f"when the wait runs out, this block goes on, and {use.taker} then misses {wanted}",
                        label="does not end in `fail`",
                        help="end the block with `.fail(…)`, or let the later step use `ctx.find(…)`",
                        related=(Related(use.place, f"{wanted} is needed here"),),
                    )
                case _:
                    pass
