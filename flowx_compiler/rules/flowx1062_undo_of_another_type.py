"""An undo that takes neither the step's request nor its result.

What it detects: `compensate_with` given a capability whose request is another contract than the
step's request and result.

Why it matters: An undo is given exactly what was recorded with the execution it undoes; there is
nothing else to give it.

When to suppress: Never: take the request or the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1062", "undo-of-another-type", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(refund_payment)  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every undo of another type."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if not isinstance(step, model.Step) or step.compensation is None:
                continue
            forward, undo = step.capability.capability, step.compensation.capability
            if undo.request in (forward.request, forward.result):
                continue
            either = f"{forward.request}" + (f" or {forward.result}" if forward.result.name != "None" else "")
            yield RULE.finding(
                step.compensation.place,
                f"{undo.id!r} takes {undo.request}, and the step it undoes, {forward.id!r}, has {either}",
                label=f"needs {undo.request}",
                help=f"name an undo whose request is {either}",
                related=(Related(undo.place, "the undo is declared here"),),
            )
