"""A contract that a journal cannot give back.

What it detects: in a durable flow, a contract of the bag (input, output, result, signal, sub-flow
input) with a member, at any depth, whose type is no data (`Any`, a callable, an open file, an
iterator, a bare `dict` or `list`), is a pydantic secret, is excluded from what is written, or is a
union of models that nothing tells apart.

Why it matters: The row holds something else than the step gave. A flow that resumes after a crash
goes on with it, and nothing says so.

What it cannot prove: what custom validators and serializers do.

When to suppress: Never: a resumed instance would go on with a hole in its state.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.stored import losses, stored_contracts
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1006", "contract-not-storable", ERROR)

INVALID = (
    Example(
        """\
flow.step(prepare)
""",
        module="""\
from typing import Any


class Prepared(Contract):
    order_id: str
    extra: Any  # <-


@capability("example.prepare", version="1.0.0", authorization=Internal(), idempotent=True)
async def prepare(request: PlaceOrder, ctx: StepContext) -> Prepared:
    return Prepared(order_id=request.order_id, extra=None)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(prepare)
""",
        module="""\
class Prepared(Contract):
    order_id: str
    extra: dict[str, str]


@capability("example.prepare", version="1.0.0", authorization=Internal(), idempotent=True)
async def prepare(request: PlaceOrder, ctx: StepContext) -> Prepared:
    return Prepared(order_id=request.order_id, extra={})
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every member that does not survive, once, with the first durable flow that stores it."""
    seen: set[Place] = set()
    for flow in program.flows.values():
        if not flow.is_durable:
            continue
        for name in stored_contracts(program, flow):
            for loss in losses(program, name):
                if loss.place in seen:
                    continue
                seen.add(loss.place)
                yield RULE.finding(
                    loss.place,
                    f"{flow.id!r} stores {loss.contract.rpartition('.')[2]}, whose `{loss.member}` does not come back: "
                    f"{loss.why}",
                    label="lost when the flow resumes",
                    help="give the member a type that JSON can hold and that says what it is",
                    related=(Related(flow.name_place, "this flow is durable"),),
                )
