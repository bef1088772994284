"""A deadline that is shorter than the timeouts of the steps inside it.

What it detects: the sum of timeout x attempts over the steps that always run is more than the
flow's deadline. It is a floor: steps in blocks, gaps between attempts, waits and everything that is
not a constant count as nothing.

Why it matters: The deadline is absolute. It runs out several steps away from its cause, and a step
is blamed that had its time cut.

When to suppress: The timeouts are upper bounds that are never all used, and the deadline is the
promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from flowx_compiler import model
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_runtime.plan import format_duration

RULE = Rule("FLOWX1019", "deadline-below-step-timeouts", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order).with_policy(SLOW)
flow.step(open_review).with_policy(SLOW)
""",
        module="""\
from flowx_runtime import PolicySet

SLOW: Final = PolicySet("slow", timeout="PT40S")
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="PT1M")  # <-',
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order).with_policy(SLOW)
flow.step(open_review).with_policy(SLOW)
""",
        module="""\
from flowx_runtime import PolicySet

SLOW: Final = PolicySet("slow", timeout="PT40S")
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="PT2M")',
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every deadline that the step timeouts together exceed."""
    for flow in program.flows.values():
        if flow.deadline is None or flow.deadline_place is None:
            continue
        parts = [part for construct in flow.body.constructs if (part := _longest(construct)) is not None]
        total = sum((duration for _, duration, _ in parts), timedelta())
        if total > flow.deadline:
            sum_of = " + ".join(f"{text} ({name})" for name, _, text in parts)
            yield RULE.finding(
                flow.deadline_place,
                f"the steps of {flow.id!r} may take {sum_of} = {format_duration(total)}, "
                f"and its deadline is {format_duration(flow.deadline)}",
                label="comes first",
                help="give the flow more time, or its steps less",
            )


def _longest(construct: model.Construct) -> tuple[str, timedelta, str] | None:
    """A step's name, the longest it may take, and how that is made up."""
    if not isinstance(construct, model.Step) or construct.policy is None:
        return None
    policy = construct.policy.policy
    if policy.timeout is None or not policy.is_readable:
        return None
    attempts = 1 if policy.retry is None or policy.retry.attempts is None else max(policy.retry.attempts, 1)
    each = format_duration(policy.timeout)
    text = each if attempts == 1 else f"{attempts} x {each}"
    return construct.capability.capability.id, attempts * policy.timeout, text
