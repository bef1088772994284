"""A step inside a capability that is tried again for ever.

What it detects: a `retry` of `ctx.once` whose backoff is not capped with `.max_attempts(n)`.

Why it matters: A poll has its timeout, a step of a flow its policy. A step inside a capability has nothing else that
would ever say: enough.

When to suppress: Never: cap it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_retry import is_uncapped
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1106", "once-retry-without-end", ERROR, is_safety=True)

INVALID = (
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(1), retry=Backoff.exponential("PT2S"))  # <-
return ManualReview(ticket=ticket)
""",
    ),
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(1), retry=AGAIN)  # <-
return ManualReview(ticket=ticket)
""",
        before="""\
AGAIN: Final = Backoff.fixed("PT2S")


""",
    ),
)

VALID = (
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(1), retry=Backoff.exponential("PT2S").max_attempts(4))
return ManualReview(ticket=ticket)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every retry without an end."""
    for body in bodies_with_steps(program):
        for step in body.steps:
            retry = step.argument("retry") if step.kind == "once" else None
            if retry is not None and is_uncapped(program, body.module, retry):
                yield RULE.finding(
                    Place(body.file, retry.span),
                    f"step {step.name or '…'!r} would be tried again for ever",
                    label="no end",
                    help="cap it: `.max_attempts(4)` is four attempts in all",
                )
