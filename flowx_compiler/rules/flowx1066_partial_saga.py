"""A saga that undoes some of its effects.

What it detects: a step whose capability declares side effects and has no compensation, in a flow
that compensates another step. The last step is no exception: a cancel or the deadline can still come after it.

Why it matters: When a later step fails, some effects are taken back and this one stays.

When to suppress: The effect needs no undo: say why.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1066", "partial-saga", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
flow.step(capture_payment)  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
flow.step(capture_payment).compensate_with(refund_payment)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every effect without an undo in a flow that undoes others."""
    for flow in program.flows.values():
        steps = [construct for construct in constructs(flow.body) if isinstance(construct, model.Step)]
        undone = next((step for step in steps if step.compensation is not None), None)
        if undone is None:
            continue
        undo_ids = {step.compensation.capability.id for step in steps if step.compensation is not None}
        for step in steps:
            capability = step.capability.capability
            if not capability.side_effects or step.compensation is not None or capability.id in undo_ids:
                continue
            effects = ", ".join(capability.side_effects)
            yield RULE.finding(
                step.capability.place,
                f"{capability.id!r} changes {effects} and has no undo, while other steps of {flow.id!r} have one",
                label="stays when a later step fails",
                help="add `.compensate_with(…)`, or say in a suppression why it may stay",
                related=(Related(undone.place, "this step is undone"),),
            )
