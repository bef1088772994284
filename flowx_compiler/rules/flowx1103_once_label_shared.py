"""Two steps of one body that have the same label.

What it detects: two `ctx.once` with one label in one function, or in the callable of one step, that can both run.
Arms of one `if`, `match` or conditional expression are exclusive, and so is what follows an arm that returns or
raises; `try` and `except` are not.

Why it matters: They share one identity. The second one reads back what the first one left, and never runs.

When to suppress: Never: give them names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_body import collisions
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1103", "once-label-shared", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(request.total))
again = await ctx.once("charge", lambda: charge(request.total))  # <-
return ManualReview(ticket=ticket + again)
""",
    ),
    paying(
        """\
try:
    ticket = await ctx.once("charge", lambda: charge(request.total))
except ValueError:
    ticket = await ctx.once("charge", lambda: charge(1))  # <-
return ManualReview(ticket=ticket)
""",
    ),
)

VALID = (
    paying(
        """\
match request.channel:
    case Channel.RETAIL:
        ticket = await ctx.once("charge", lambda: charge(request.total))
    case _:
        ticket = await ctx.once("charge", lambda: charge(1))
return ManualReview(ticket=ticket)
""",
    ),
    paying(
        """\
if request.total == 0:
    return ManualReview(ticket=await ctx.once("charge", lambda: charge(0)))
return ManualReview(ticket=await ctx.once("charge", lambda: charge(request.total)))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every step that reads back what another one left."""
    for body in bodies_with_steps(program):
        for first, step in collisions(body, "once"):
            yield RULE.finding(
                step.place,
                f"two steps that can both run are labelled {step.name!r}; the other one is in line"
                f" {first.place.span.line}",
                label="reads back what the other one left, and never runs",
                help="give each of them a label of its own",
                related=(Related(first.place, "the other one"),),
            )
