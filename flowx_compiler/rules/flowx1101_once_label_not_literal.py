"""A step inside a capability whose label is not a text written there.

What it detects: a first argument of `ctx.once` that is no string literal, is empty, or has one of the characters
`/ ~ @` that separate the parts of a step's path.

Why it matters: The label is the step's identity: the record that it has run is found by it. A computed one can come
out otherwise on the next attempt, and the step then runs a second time.

When to suppress: Never: write the label there. Passes of a loop are told apart without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1101", "once-label-not-literal", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
ticket = await ctx.once(f"charge-{request.order_id}", lambda: charge(request.total))  # <-
return ManualReview(ticket=ticket)
""",
    ),
    paying(
        """\
ticket = await ctx.once("", lambda: charge(request.total))  # <-
return ManualReview(ticket=ticket)
""",
    ),
)

VALID = (
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(request.total))
return ManualReview(ticket=ticket)
""",
    ),
)


_SEPARATORS = frozenset("/~@")


def check(program: Program) -> Iterator[Finding]:
    """Every `once` without a usable label."""
    for body in bodies_with_steps(program):
        for step in body.steps:
            if step.kind != "once" or (
                step.name is not None and step.name.strip() and not _SEPARATORS & set(step.name)
            ):
                continue
            if step.name is None:
                said = "the label of this step is not a text written here"
            elif step.name.strip():
                said = f"the label {step.name!r} has one of / ~ @, which separate the parts of a step's path"
            else:
                said = "the label of this step is empty"
            yield RULE.finding(
                step.place,
                said,
                label="its record is found by the label",
                help='name what the step does: `ctx.once("charge", …)`',
            )
