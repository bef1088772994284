"""A step that is tried again and calls more than one thing outside.

What it detects: a `ctx.once` with a `retry` whose callable, or the method or function it calls, awaits two or more
calls of something the capability was given.

Why it matters: A retry does the whole step again. When the second call fails, the first one is repeated, though it
succeeded.

When to suppress: All of them can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_ports import outbound_calls
from flowx_compiler.check.once_steps import steps_of
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import banking
from flowx_compiler.rules.rule import WARNING, Rule

RULE = Rule("FLOWX1109", "retried-step-repeats-calls", WARNING)

INVALID = (
    banking(
        """\
ticket = await ctx.once("charge", lambda: self.both(), retry=Backoff.fixed("PT2S").max_attempts(3))  # <-
return ManualReview(ticket=ticket)
""",
        method="""\
async def both(self) -> str:
    receipt = await self.bank.charge(1)
    await self.bank.confirm(receipt)
    return receipt
""",
    ),
)

VALID = (
    banking(
        """\
ticket = await ctx.once("charge", lambda: self.bank.charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
await ctx.once("confirm", lambda: self.bank.confirm(ticket))
return ManualReview(ticket=ticket)
""",
    ),
    banking(
        """\
ticket = await ctx.once("charge", lambda: self.both())
return ManualReview(ticket=ticket)
""",
        method="""\
async def both(self) -> str:
    receipt = await self.bank.charge(1)
    await self.bank.confirm(receipt)
    return receipt
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every retried step that repeats several calls."""
    for capability in program.capabilities.values():
        for body in steps_of(program, capability):
            for step in body.steps:
                if step.kind != "once" or step.argument("retry") is None or step.work is None:
                    continue
                calls = outbound_calls(program, body.module, capability.owner, step.work)
                if len(calls) > 1:
                    yield RULE.finding(
                        step.place,
                        f"step {step.name or '…'!r} makes {len(calls)} calls, and a retry repeats all of them",
                        label="tried again as a whole",
                        help="give what must not be repeated a step of its own, outside this one",
                        related=tuple(Related(Place(file, call.span), "one of them") for file, call in calls),
                    )
