"""An event's plain member that is filled from a `Sensitive` one.

What it detects: a map of `.emit(…)` or `.emit_on_failure(…)` that gives a plain member of the event the whole of a
member that is `Sensitive`, as it is or inside an f-string.

Why it matters: Events leave this system. A `Sensitive` member of an event is redacted on the way out; a plain one says
what it holds to every subscriber, and to everybody who reads the outbox.

What it cannot prove: what a function of yours makes of a value it is given. What is cut out of one on purpose, such as
the last four digits, is let pass.

When to suppress: When the value is one that may be known, of a contract that says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.nodes import calls_in
from flowx_compiler.check.reads import qualified
from flowx_compiler.check.receivers import Receivers
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Contract, Emit, Flow, Member, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Attribute, Compound, Expr

RULE = Rule("FLOWX1070", "secret-in-an-event", ERROR)

_CARDS = """\
from flowx_runtime import Sensitive, event


class Card(Contract):
    number: Sensitive[str]
    holder: str


class Payment(Contract):
    card: Card


@event("card.charged", version="1.0.0")
class Charged(Contract):
    number: Sensitive[str] = ""
    text: str = ""


@capability("card.take", version="1.0.0", authorization=Internal(), idempotent=True)
async def take(request: PlaceOrder, ctx: StepContext) -> Payment:
    return Payment(card=Card(number=request.order_id, holder="h"))
"""

INVALID = (
    Example(
        """\
flow.step(take)
flow.emit(Charged, lambda ctx: Charged(text=ctx.get(Payment).card.number))  # <-
""",
        module=_CARDS,
    ),
    Example(
        """\
flow.step(take)
flow.emit(Charged, lambda ctx: Charged(text=f"by {ctx.get(Payment).card.number}"))  # <-
""",
        module=_CARDS,
    ),
)

VALID = (
    Example(
        """\
flow.step(take)
flow.emit(Charged, lambda ctx: Charged(number=ctx.get(Payment).card.number, text=ctx.get(Payment).card.holder))
flow.emit(Charged, lambda ctx: Charged(text=ctx.get(Payment).card.number[-4:]))
""",
        module=_CARDS,
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every plain member of every event that a flow emits."""
    for flow in program.flows.values():
        for emit in (*(item for item in constructs(flow.body) if isinstance(item, Emit)), *flow.on_failure):
            event = program.contracts.get(emit.event.contract)
            if event is not None:
                yield from _leaks(program, flow, emit, event)


def _leaks(program: Program, flow: Flow, emit: Emit, event: Contract) -> Iterator[Finding]:
    function = emit.payload
    receivers = Receivers.of_decision(program, flow, function)
    members = {member.name: member for member in event.fields}
    for call in calls_in(program, function.syntax):
        if qualified(program, function.module, call.function) != emit.event.contract:
            continue
        for argument in call.arguments:
            filled = members.get(argument.keyword or "")
            if filled is None or filled.is_sensitive:
                continue
            for expression in _said(argument.value):
                read = _member(program, receivers, expression)
                if read is not None and read.is_sensitive:
                    place = Place(function.place.file, expression.span)
                    yield RULE.finding(
                        place,
                        f"`{filled.name}` of {emit.event.id!r} is given `{read.name}`, which is Sensitive, and leaves",
                        label="every subscriber reads it",
                        help=f"make `{filled.name}` Sensitive too, leave it out, or cut out what may be known",
                    )


def _said(value: Expr) -> tuple[Expr, ...]:
    return value.parts if isinstance(value, Compound) and value.kind == "f_string" else (value,)


def _member(program: Program, receivers: Receivers, expression: Expr) -> Member | None:
    """The member that `ctx.input.card.number` or `ctx.get(Payment).card.number` reads."""
    holder = receivers.type_of(expression.value) if isinstance(expression, Attribute) else None
    contract = None if holder is None else program.contracts.get(holder.name)
    if contract is None or not isinstance(expression, Attribute):
        return None
    return next((item for item in contract.members if item.name == expression.attr), None)
