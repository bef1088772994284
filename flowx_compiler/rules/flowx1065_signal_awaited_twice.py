"""One signal that two waits of a flow take.

What it detects: an `await_signal` or `or_signal` whose signal another wait of the same flow takes
too. Waits in different arms of one decision count: both are open in no run, but a reader of the
manifest cannot tell.

Why it matters: A delivery names the signal and not the wait. One that comes late, or twice, ends
the next wait, which was meant for another answer.

When to suppress: The waits exclude each other, or any delivery may end either.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1065", "signal-awaited-twice", WARNING)

INVALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout(lambda late: late.fail(TooLate))
flow.step(open_review)
flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout(lambda late: late.fail(TooLate))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout(lambda late: late.fail(TooLate))
flow.step(open_review)
flow.await_signal(JobFinished, timeout="P1D").on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every later wait for a signal that an earlier one takes."""
    for flow in program.flows.values():
        first: dict[str, Place] = {}
        for construct in constructs(flow.body):
            if not isinstance(construct, model.AwaitSignal | model.Poll):
                continue
            signal, value = construct.signal, construct.signal_value
            if signal is None or value is None:
                continue
            earlier = first.setdefault(signal.id, value.place)
            if earlier is not value.place:
                yield RULE.finding(
                    value.place,
                    f"another wait of {flow.id!r} takes signal {signal.id!r} too: a late delivery ends the wrong one",
                    label="taken twice",
                    help="give each wait a signal of its own",
                    related=(Related(earlier, "taken here first"),),
                )
