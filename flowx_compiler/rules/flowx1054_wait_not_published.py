"""A wait that the contract cannot publish.

What it detects: the timeout of `await_signal` or `poll_until`, or a `delay`, that does not fold to
a constant.

Why it matters: The plan evaluates the expression, and the manifest has nothing to say: `flowx diff`
cannot see that the window changed, and another machine may have another.

When to suppress: The duration really belongs to the environment, and callers are told another way.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1054", "wait-not-published", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.await_signal(PaymentConfirmed, timeout=WINDOW).on_timeout(lambda late: late.fail(TooLate))  # <-
""",
        module="""\
import os
from datetime import timedelta

WINDOW = timedelta(days=int(os.environ.get("DAYS", "7")))
""",
    ),
)

VALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every duration of a wait that does not fold."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            match construct:
                case model.AwaitSignal(timeout=duration):
                    what = "timeout` of `await_signal"
                case model.Poll(timeout=duration):
                    what = "timeout` of `poll_until"
                case model.Delay(duration=duration):
                    what = "duration` of `delay"
                case _:
                    continue
            if duration.folded is None:
                declared = duration.value.declared
                yield RULE.finding(
                    duration.value.place,
                    f"`{what}` is not a constant, so the manifest cannot publish it",
                    label="known only when the plan is imported",
                    help="write ISO-8601 text, a `timedelta` of literals, or a constant naming one",
                    related=() if declared is None else (Related(declared, "assigned here"),),
                )
