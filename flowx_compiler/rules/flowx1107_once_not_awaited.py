"""A step inside a capability that nobody waits for, or that cannot be numbered.

What it detects: a `ctx.once` that is not awaited; one in a lambda or comprehension, whose passes have no order that
a record could be found by; and one in a capability that is not `async`.

Why it matters: A step that is not awaited never runs. One in a comprehension may be another pass on the next attempt,
and then reads back what it did not leave.

When to suppress: Never: await it, in a `for` loop where there are several.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_body import OnceStep
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule
from flowx_compiler.syntax import Function

RULE = Rule("FLOWX1107", "once-not-awaited", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
ctx.once("charge", lambda: charge(request.total))  # <-
return ManualReview(ticket="t")
""",
    ),
    paying(
        """\
tickets = [await ctx.once("charge", lambda: charge(line.quantity)) for line in request.lines]  # <-
return ManualReview(ticket=tickets[0])
""",
    ),
    paying(
        """\
ctx.once("charge", lambda: charge(request.total))  # <-
return ManualReview(ticket="t")
""",
        is_async=False,
    ),
)

VALID = (
    paying(
        """\
for line in request.lines:
    await ctx.once("reserve", lambda line=line: charge(line.quantity))
first, second = await asyncio.gather(ctx.once("one", lambda: charge(1)), ctx.once("two", lambda: charge(2)))
return ManualReview(ticket=first + second)
""",
        before="""\
import asyncio


""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every step that nobody waits for, or whose passes cannot be told apart."""
    for body in bodies_with_steps(program):
        is_plain = isinstance(body.syntax, Function) and not body.syntax.is_async
        for step in body.steps:
            found = _wrong(step, is_plain=is_plain)
            if found is not None:
                said, help_text = found
                yield RULE.finding(step.place, f"step {step.name or '…'!r} {said}", label="", help=help_text)


def _wrong(step: OnceStep, *, is_plain: bool) -> tuple[str, str] | None:
    if step.kind == "helper":
        return None
    if is_plain:
        return "is in a function that is not async, and so never runs", "make the function `async def` and await it"
    if step.how == "dropped":
        return "is not awaited, and so never runs", "write `await` before it"
    if step.how == "unnumbered" and step.argument("each") is None:
        return (
            "is in a lambda or comprehension, whose passes cannot be numbered",
            "write a `for` loop and await it there",
        )
    return None
