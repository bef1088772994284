"""A call to something outside that is no step, in a body with a step that is tried again.

What it detects: in a capability that declares side effects and has a `ctx.once` with a `retry`, an awaited call of
something the capability was given, outside any step.

Why it matters: A retry enters the body again from the top. What is a step gives back its record; this call is made
again, on every attempt.

When to suppress: The call only reads, or may be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_ports import is_outbound
from flowx_compiler.check.once_steps import steps_of
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import banking
from flowx_compiler.rules.rule import WARNING, Rule
from flowx_compiler.syntax import Function

RULE = Rule("FLOWX1110", "effect-beside-retried-step", WARNING)

INVALID = (
    banking(
        """\
await self.bank.confirm("before")  # <-
ticket = await ctx.once("charge", lambda: self.bank.charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
return ManualReview(ticket=ticket)
""",
    ),
)

VALID = (
    banking(
        """\
await ctx.durable(self.bank).confirm("before")
ticket = await ctx.once("charge", lambda: self.bank.charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
return ManualReview(ticket=ticket)
""",
    ),
    banking(
        """\
await self.bank.confirm("before")
ticket = await ctx.once("charge", lambda: self.bank.charge(1))
return ManualReview(ticket=ticket)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every call that a retry of a step beside it makes again."""
    for capability in program.capabilities.values():
        if not capability.side_effects:
            continue
        for body in steps_of(program, capability):
            retried = next((step for step in body.steps if step.argument("retry") is not None), None)
            if retried is None or not isinstance(body.syntax, Function):
                continue
            for call in body.own:
                if is_outbound(call):
                    yield RULE.finding(
                        Place(body.file, call.span),
                        f"this call is made again on every attempt of step {retried.name or '…'!r}",
                        label="no step",
                        help='make it one: `ctx.once("what it does", lambda: …)`, or call it through `ctx.durable(…)`',
                        related=(Related(retried.place, "the step that is tried again"),),
                    )
