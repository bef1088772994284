"""Two calls to one operation of a durable port that nobody told apart.

What it detects: two calls of one method through `ctx.durable(…)` in one body that can both run, neither of them inside
a labelled step.

Why it matters: Each is a step named after the operation, so both have one name. Counting them would work until
somebody puts a third one before them: a run that goes on after that release would no longer know what it has sent.

When to suppress: Never: name one of them, `ctx.once("backup", lambda: mailer.send(…))`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_body import collisions
from flowx_compiler.check.once_steps import bodies_with_steps
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import banking
from flowx_compiler.rules.rule import ERROR, Rule

RULE = Rule("FLOWX1104", "durable-call-unnamed", ERROR, is_safety=True)

INVALID = (
    banking(
        """\
bank = ctx.durable(self.bank)
await bank.confirm("a")
await bank.confirm("b")  # <-
return ManualReview(ticket="t")
""",
    ),
    banking(
        """\
await ctx.durable(self.bank).confirm("a")
if request.express:
    await ctx.durable(self.bank).confirm("b")  # <-
return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    banking(
        """\
bank = ctx.durable(self.bank)
await bank.confirm("a")
await ctx.once("backup", lambda: bank.confirm("b"))
return ManualReview(ticket="t")
""",
    ),
    banking(
        """\
bank = ctx.durable(self.bank)
if request.express:
    await bank.confirm("a")
else:
    await bank.confirm("b")
return ManualReview(ticket="t")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every call that has the name of another one."""
    for body in bodies_with_steps(program):
        for first, step in collisions(body, "durable"):
            method = (step.name or "").rpartition(".")[2]
            yield RULE.finding(
                step.place,
                f"two steps here go through {step.name!r} and neither has a name of its own; the other one is in"
                f" line {first.place.span.line}",
                label="which of the two a record is of does not survive an edit",
                help=f'name it: `ctx.once("what this one does", lambda: ….{method}(…))`',
                related=(Related(first.place, "the other one"),),
            )
