"""A function with steps that is called twice from one body.

What it detects: a function of the project that the context is passed to, that has a step, and that is called twice
from one body on ways that can both run.

Why it matters: Its name is part of the path of its steps, and two calls have one name: the steps of the second call
read back what those of the first one left.

When to suppress: Never: call it in a loop over what it is for, each pass of which has steps of its own, or give the
two calls functions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_body import collisions
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1105", "helper-with-steps-called-twice", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
await notify(ctx, "buyer")
await notify(ctx, "seller")  # <-
return ManualReview(ticket="t")
""",
        before="""\
async def notify(ctx: StepContext, to: str) -> None:
    await ctx.once("notify", lambda: print(to))


""",
    ),
    paying(
        """\
if request.express:
    await notify(ctx, "courier")
await notify(ctx, "seller")  # <-
return ManualReview(ticket="t")
""",
        before="""\
async def notify(ctx: StepContext, to: str) -> None:
    await ctx.once("notify", lambda: print(to))


""",
    ),
)

VALID = (
    paying(
        """\
for to in ("buyer", "seller"):
    await notify(ctx, to)
return ManualReview(ticket="t")
""",
        before="""\
async def notify(ctx: StepContext, to: str) -> None:
    await ctx.once("notify", lambda: print(to))


""",
    ),
    paying(
        """\
if request.express:
    await notify(ctx, "courier")
elif request.total:
    await notify(ctx, "seller")
else:
    await notify(ctx, "nobody")
return ManualReview(ticket="t")
""",
        before="""\
async def notify(ctx: StepContext, to: str) -> None:
    await ctx.once("notify", lambda: print(to))


""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every second call of a helper."""
    for body in bodies_with_steps(program):
        for first, step in collisions(body, "helper"):
            yield RULE.finding(
                step.place,
                f"{step.name!r} has steps and is called twice here; the other call is in line {first.place.span.line}",
                label="its steps read back what those of the other call left",
                help="call it in a loop over what it is for, or split it in two",
                related=(Related(first.place, "the other call"),),
            )
