"""A contract that can be changed after it was stored.

What it detects: a pydantic model that a flow keeps in its bag and that is not frozen. A model with
a base outside the project is left alone.

Why it matters: A step that changes the object changes what later steps see and not what the row
holds. The flow goes on with one value and resumes with another.

When to suppress: Never: derive from `Contract`, or freeze the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.stored import stored_contracts
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1270", "contract-not-frozen", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(loosen)
""",
        module="""\
from pydantic import BaseModel


class Loose(BaseModel):  # <-
    order_id: str


@capability("example.loosen", version="1.0.0", authorization=Internal(), idempotent=True)
async def loosen(request: PlaceOrder, ctx: StepContext) -> Loose:
    return Loose(order_id=request.order_id)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(loosen)
""",
        module="""\
from pydantic import BaseModel


class Loose(BaseModel, frozen=True):
    order_id: str


@capability("example.loosen", version="1.0.0", authorization=Internal(), idempotent=True)
async def loosen(request: PlaceOrder, ctx: StepContext) -> Loose:
    return Loose(order_id=request.order_id)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every contract of a bag that is not frozen, once."""
    seen: set[str] = set()
    for flow in program.flows.values():
        for name in stored_contracts(program, flow):
            contract = program.contracts[name]
            if name in seen or contract.is_frozen or not contract.is_complete:
                continue
            seen.add(name)
            yield RULE.finding(
                contract.place,
                f"{name.rpartition('.')[2]} is a contract of {flow.id!r} and is not frozen",
                label="can be changed after it was stored",
                help="derive it from `Contract`, or write `class …(BaseModel, frozen=True)`",
            )
