"""A wait that can never run its time.

What it detects: a folded wait, delay or poll budget longer than the flow's deadline (an error), and
a flow that waits and has no deadline (a warning).

Why it matters: The deadline is absolute and comes first: the wait's own ending, with its
escalation, would never happen. Without a deadline an instance that nobody answers stays for ever.

When to suppress: The missing deadline is deliberate: say what ends such a flow.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule
from flowx_runtime.plan import format_duration

RULE = Rule("FLOWX1064", "deadline-before-the-wait", ERROR)

INVALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))  # <-
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")',
    ),
    Example(
        """\
flow.delay("P1D")
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE)  # <-',
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
    """Waits longer than the deadline, and waiting flows without one."""
    for flow in program.flows.values():
        waits = [c for c in constructs(flow.body) if isinstance(c, model.AwaitSignal | model.Delay | model.Poll)]
        if flow.deadline is None and flow.deadline_place is None and flow.is_durable and waits:
            yield RULE.finding(
                flow.place,
                f"{flow.id!r} waits and has no deadline: an instance that nobody answers stays for ever",
                label="no deadline",
                help='add for example `deadline="P30D"`',
                related=(Related(waits[0].place, "it waits here"),),
                severity=WARNING,
            )
        for wait in waits if flow.deadline is not None and flow.is_durable else ():
            duration = wait.duration if isinstance(wait, model.Delay) else wait.timeout
            if duration.folded is not None and flow.deadline is not None and duration.folded > flow.deadline:
                yield RULE.finding(
                    duration.value.place,
                    f"this wait is {format_duration(duration.folded)} long and the deadline of {flow.id!r} "
                    f"{format_duration(flow.deadline)}: the deadline always comes first",
                    label="never runs its time",
                    help="shorten the wait, or give the flow more time",
                    related=() if flow.deadline_place is None else (Related(flow.deadline_place, "the deadline"),),
                )
