"""A contract that a journal cannot give back.

What it detects: in a durable flow, a contract of the bag (input, output, result, signal, sub-flow
input) with a member, at any depth, whose type is no data (`Any`, a callable, an open file, an
iterator, a bare `dict` or `list`), is a pydantic secret, is excluded from what is written, or is a
union of models that nothing tells apart; that is written under one name and read under another; whose
keys are no texts in JSON (tuples, models); or that is an enumeration whose values are tuples or lists.

Why it matters: The row holds something else than the step gave. Running, a step that gives such a
value fails with `flow.value_not_kept` after its work is done.

What it cannot prove: what custom validators and serializers do, and alias generators. What they change
is seen when a value is stored, and refused then.

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
    Example(
        """\
flow.step(prepare)
""",
        module="""\
from enum import Enum

from pydantic import AliasChoices, AliasPath, Field


class Size(Enum):
    SMALL = (1, 2)


class Prepared(Contract):
    order_id: str = Field(serialization_alias="orderId")  # <-
    note: str = Field(validation_alias="remark")  # <-
    place: str = Field(validation_alias=AliasPath("address", "city"))  # <-
    name: str = Field(validation_alias=AliasChoices("first", "last"))  # <-
    prices: dict[tuple[int, int], str]  # <-
    size: Size  # <-


@capability("example.prepare", version="1.0.0", authorization=Internal(), idempotent=True)
async def prepare(request: PlaceOrder, ctx: StepContext) -> Prepared:
    return Prepared.model_construct(order_id=request.order_id)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(prepare)
""",
        module="""\
from pydantic import AliasChoices, Field


class Prepared(Contract):
    order_id: str = Field(alias="orderId")
    note: str = Field(default="", validation_alias=AliasChoices("note", "remark"))
    prices: dict[str, int]


@capability("example.prepare", version="1.0.0", authorization=Internal(), idempotent=True)
async def prepare(request: PlaceOrder, ctx: StepContext) -> Prepared:
    return Prepared(orderId=request.order_id, prices={})
""",
    ),
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
