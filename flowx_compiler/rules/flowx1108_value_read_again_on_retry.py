"""A clock, an id or a random value that is read again whenever a step is tried again.

What it detects: in a body with a step that has a `retry`, a read before it, through a function of the project, of a
clock, of randomness or of the environment, outside any step. A read that the capability makes itself is reported by
1007 and 1008.

Why it matters: A retry enters the body again from the top, and everything outside a step is done again. What was
stored or sent under the first value does not match the second. `ctx.utc_now` and `ctx.new_id()` give the same again.

When to suppress: The value goes nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import reads_below
from flowx_compiler.check.once_body import Body
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import WARNING, Rule
from flowx_compiler.syntax import Function

RULE = Rule("FLOWX1108", "value-read-again-on-retry", WARNING)

INVALID = (
    paying(
        """\
reference = fresh_reference()  # <-
ticket = await ctx.once("charge", lambda: charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
return ManualReview(ticket=f"{reference}{ticket}")
""",
        before="""\
import uuid


def fresh_reference() -> str:
    return str(uuid.uuid4())


""",
    ),
)

VALID = (
    paying(
        """\
reference = ctx.new_id()
ticket = await ctx.once("charge", lambda: charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
return ManualReview(ticket=f"{reference}{ticket}")
""",
    ),
    paying(
        """\
reference = await ctx.once("reference", fresh_reference)
ticket = await ctx.once("charge", lambda: charge(1), retry=Backoff.fixed("PT2S").max_attempts(3))
return ManualReview(ticket=f"{reference}{ticket}")
""",
        before="""\
import uuid


def fresh_reference() -> str:
    return str(uuid.uuid4())


""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every read before the last retried step of a body."""
    for body in bodies_with_steps(program):
        retried = [step for step in body.steps if step.kind == "once" and step.argument("retry") is not None]
        if not retried or not isinstance(body.syntax, Function):
            continue
        last = retried[-1]
        for read in reads_below(program, body.module, body.syntax.body, ()):
            place = read.trace[0] if read.trace else None
            if place is not None and _is_before(place, last.place) and not _is_in_a_step(body, place):
                yield RULE.finding(
                    place,
                    f"`{read.name}` is read again on every attempt of step {last.name or '…'!r}",
                    label=f"comes to {read.kind}",
                    help="use `ctx.utc_now` or `ctx.new_id()`, or read it in a step of its own",
                    related=(Related(read.place, "here"), Related(last.place, "the step that is tried again")),
                )


def _is_before(place: Place, other: Place) -> bool:
    return (place.span.line, place.span.column) < (other.span.line, other.span.column)


def _is_in_a_step(body: Body, place: Place) -> bool:
    return any(step.kind == "once" and step.call.span.holds(place.span) for step in body.steps)
