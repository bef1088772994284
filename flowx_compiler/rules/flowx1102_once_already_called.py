"""A step inside a capability that has run before `once` can ask whether it did.

What it detects: a second argument of `ctx.once` that is a call, such as `ctx.once("charge", charge(total))`, or is
nothing that can be called.

Why it matters: Arguments are evaluated first. The card is charged, and only then is it looked up whether it was.

When to suppress: The call gives back a function.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule
from flowx_compiler.syntax import Call, Constant, Display

RULE = Rule("FLOWX1102", "once-already-called", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
ticket = await ctx.once("charge", charge(request.total))  # <-
return ManualReview(ticket=ticket)
""",
    ),
    paying(
        """\
ticket = await ctx.once("charge", "receipt")  # <-
return ManualReview(ticket=ticket)
""",
    ),
)

VALID = (
    paying(
        """\
ticket = await ctx.once("charge", partial(charge, request.total))
again = await ctx.once("charge-again", lambda key: charge(request.total))
return ManualReview(ticket=ticket + again)
""",
        before="""\
from functools import partial


""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every `once` that is given a result instead of something to call."""
    for body in bodies_with_steps(program):
        for step in body.steps:
            work = step.work
            if step.kind != "once" or work is None:
                continue
            is_call = isinstance(work, Call) and qualified(program, body.module, work.function) != "functools.partial"
            if is_call or isinstance(work, Constant | Display):
                name, what = step.name or "…", "called" if is_call else "given a value"
                yield RULE.finding(
                    Place(body.file, work.span),
                    f"step {name!r} is {what} before it is known whether it has run",
                    label="runs every time",
                    help=f"give it something to call: `ctx.once({name!r}, lambda: …)`",
                )
