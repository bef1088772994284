"""A wait in a flow that keeps no journal.

What it detects: `await_signal`, `delay` or `poll_until` anywhere in a flow, its blocks included,
whose profile is not `DURABLE`; naming no profile means `EPHEMERAL`.

Why it matters: A wait outlives deploys and crashes. Without a journal the instance vanishes with
its node, a timer has nowhere to record when it is due, and a poll cannot know which attempt it is
on.

When to suppress: Never: nothing downstream would catch it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1017", "wait-without-a-journal", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.when(lambda ctx: ctx.input.express, lambda b: b.delay("PT1H"))  # <-
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")',
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.delay("PT1H")
""",
    ),
)


_NAMES = {model.AwaitSignal: "await_signal", model.Delay: "delay", model.Poll: "poll_until"}


def check(program: Program) -> Iterator[Finding]:
    """Every wait of every flow that is not durable."""
    for flow in program.flows.values():
        if flow.is_durable:
            continue
        for construct in constructs(flow.body):
            if isinstance(construct, model.AwaitSignal | model.Delay | model.Poll):
                name = _NAMES[type(construct)]
                yield RULE.finding(
                    construct.place,
                    f"`{name}` waits, and {flow.id!r} keeps no journal to wait in",
                    label="nothing would remember this wait",
                    help="add `profile=Profile.DURABLE` to `@flow`, and a deadline that is long enough",
                    related=(Related(flow.profile_place or flow.place, "its profile is declared here"),),
                )
