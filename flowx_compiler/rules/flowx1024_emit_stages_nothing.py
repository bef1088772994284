"""An event that is never published as it is declared.

What it detects: `emit` or `emit_on_failure` in a flow that keeps no journal (a warning), and in a
durable flow an event whose contract cannot be written and read back (an error).

Why it matters: An event is staged in the commit of the step's row. Without a journal there is no
such commit, while the manifest promises the event to those who wait for it.

When to suppress: The flow is ephemeral on purpose and the event is told by other means.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.stored import losses
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule

RULE = Rule("FLOWX1024", "emit-stages-nothing", WARNING)

INVALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))  # <-
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")',
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every emit that can stage nothing, or nothing that comes back."""
    for flow in program.flows.values():
        emits = [construct for construct in constructs(flow.body) if isinstance(construct, model.Emit)]
        for emit in (*emits, *flow.on_failure):
            if not flow.is_durable:
                yield RULE.finding(
                    emit.place,
                    f"{emit.event.id!r} is staged in a journal's commit, and {flow.id!r} keeps no journal",
                    label="never published",
                    help="add `profile=Profile.DURABLE`, or take the event away",
                )
                continue
            for loss in losses(program, emit.event.contract):
                yield RULE.finding(
                    emit.place,
                    f"the event {emit.event.id!r} cannot be written as declared: `{loss.member}` of "
                    f"{loss.contract.rpartition('.')[2]}: {loss.why}",
                    label="not what its readers are promised",
                    help="give the member a type that JSON can hold and that says what it is",
                    related=(Related(loss.place, "this member"),),
                    severity=ERROR,
                )
