"""Two calls to one operation of a durable port that nobody told apart.

What it detects: two calls of one method through `ctx.durable(…)` in one body that can both run, neither of them inside
a labelled step.

Why it matters: Each is a step named after the operation, so both have one name. Counting them would work until
somebody puts a third one before them: a run that goes on after that release would no longer know what it has sent.

When to suppress: Never: name one of them, `ctx.once("backup", lambda: mailer.send(…))`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.once_steps import bodies_with_steps, can_both_run
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1104", "durable-call-unnamed", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(Pay)
""",
        module="""\
from typing import Protocol


class Mailer(Protocol):
    async def send(self, to: str) -> None: ...


@capability("example.pay", version="1.0.0", authorization=Internal(), idempotent=True)
class Pay:
    def __init__(self, mailer: Mailer) -> None:
        self.mailer = mailer

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        mailer = ctx.durable(self.mailer)
        await mailer.send("a")
        await mailer.send("b")  # <-
        return ManualReview(ticket="t")
""",
    ),
    Example(
        """\
flow.step(Pay)
""",
        module="""\
from typing import Protocol


class Mailer(Protocol):
    async def send(self, to: str) -> None: ...


@capability("example.pay", version="1.0.0", authorization=Internal(), idempotent=True)
class Pay:
    def __init__(self, mailer: Mailer) -> None:
        self.mailer = mailer

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        await ctx.durable(self.mailer).send("a")
        if request.express:
            await ctx.durable(self.mailer).send("b")  # <-
        return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(Pay)
""",
        module="""\
from typing import Protocol


class Mailer(Protocol):
    async def send(self, to: str) -> None: ...


@capability("example.pay", version="1.0.0", authorization=Internal(), idempotent=True)
class Pay:
    def __init__(self, mailer: Mailer) -> None:
        self.mailer = mailer

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        mailer = ctx.durable(self.mailer)
        await mailer.send("a")
        await ctx.once("backup", lambda: mailer.send("b"))
        return ManualReview(ticket="t")
""",
    ),
    Example(
        """\
flow.step(Pay)
""",
        module="""\
from typing import Protocol


class Mailer(Protocol):
    async def send(self, to: str) -> None: ...


@capability("example.pay", version="1.0.0", authorization=Internal(), idempotent=True)
class Pay:
    def __init__(self, mailer: Mailer) -> None:
        self.mailer = mailer

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        mailer = ctx.durable(self.mailer)
        if request.express:
            await mailer.send("a")
        else:
            await mailer.send("b")
        return ManualReview(ticket="t")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every call that has the name of another one."""
    for body in bodies_with_steps(program):
        calls = [step for step in body.steps if step.kind == "durable"]
        for position, step in enumerate(calls):
            others = (other for other in calls[:position] if other.name == step.name and can_both_run(other, step))
            first = next(others, None)
            if first is not None:
                method = (step.name or "").rpartition(".")[2]
                yield RULE.finding(
                    step.place,
                    f"two steps here go through {step.name!r} and neither has a name of its own; the other one is in"
                    f" line {first.place.span.line}",
                    label="which of the two a record is of does not survive an edit",
                    help=f'name it: `ctx.once("what this one does", lambda: ….{method}(…))`',
                    related=(Related(first.place, "the other one"),),
                )
