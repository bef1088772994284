"""A step in a loop whose passes cannot be told apart by their number.

What it detects: in a loop, a `ctx.once`, a call through `ctx.durable` or a call of a function with steps that not
every pass comes to (it is under an `if` or `match`, behind a `continue`, or in a `try` that goes on after a failure),
or a loop over a set; and a function with steps that is called in a comprehension. `ctx.once(…, each=…)` is fine
anywhere.

Why it matters: Passes are numbered in the order they come. When another attempt skips one that the first did not, every
later pass reads back what another one left: one thing is charged twice, and another never.

When to suppress: Never: say which pass it is, `each=line.sku`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_body import Body, OnceStep
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1112", "once-pass-without-a-name", ERROR, is_safety=True)

_NOTIFY = """\
async def notify(ctx: StepContext, to: str) -> None:
    await ctx.once("notify", lambda: print(to))


"""

INVALID = (
    paying(
        """\
for line in request.lines:
    if line.quantity > 1:
        await ctx.once("reserve", lambda: charge(line.quantity))  # <-
return ManualReview(ticket="t")
""",
    ),
    paying(
        """\
for line in request.lines:
    if await is_paid(line):
        continue
    await ctx.once("reserve", lambda: charge(line.quantity))  # <-
return ManualReview(ticket="t")
""",
        before="async def is_paid(line: Line) -> bool:\n    return False\n\n\n",
    ),
    paying(
        """\
for _ in range(3):
    try:
        ticket = await ctx.once("charge", lambda: charge(1))  # <-
        break
    except ConnectionError:
        pass
return ManualReview(ticket=ticket)
""",
    ),
    paying(
        """\
for number in {1, 2}:
    await ctx.once("charge", lambda: charge(number))  # <-
return ManualReview(ticket="t")
""",
    ),
    paying(
        """\
await asyncio.gather(*[notify(ctx, line.sku) for line in request.lines])  # <-
return ManualReview(ticket="t")
""",
        before="import asyncio\n\n\n" + _NOTIFY,
    ),
)

VALID = (
    paying(
        """\
for line in request.lines:
    await ctx.once("reserve", lambda: charge(line.quantity))
return ManualReview(ticket="t")
""",
    ),
    paying(
        """\
for line in request.lines:
    if line.quantity > 1:
        await ctx.once("reserve", lambda: charge(line.quantity), each=line.sku)
return ManualReview(ticket="t")
""",
    ),
    paying(
        """\
await asyncio.gather(*[notify(ctx, line.sku) for line in request.lines])
return ManualReview(ticket="t")
""",
        before="import asyncio\n\n\n" + _NOTIFY.replace("print(to))", "print(to), each=to)"),
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every step whose pass another attempt may number otherwise."""
    bodies = bodies_with_steps(program)
    named = {id(body.syntax) for body in bodies if all(_has_name(step) for step in body.steps)}
    for body in bodies:
        for step in body.steps:
            is_helper = step.target is not None
            if _has_name(step) or (is_helper and id(step.target) in named):
                continue
            if step.passes == "some" or (is_helper and step.how == "unnumbered"):
                yield RULE.finding(
                    step.place,
                    f"not every attempt comes to {step.name or '…'!r} by the same passes: their numbers would not hold",
                    label="a pass could read back what another one left",
                    help=_way_out(body, step),
                )


def _has_name(step: OnceStep) -> bool:
    return step.kind == "once" and step.argument("each") is not None


def _way_out(body: Body, step: OnceStep) -> str:
    if step.kind == "helper":
        return f"give the steps of {step.name!r} what tells one pass from another: `{body.context}.once(…, each=…)`"
    return f"say which pass it is: `{body.context}.once(…, each=line.sku)`"
