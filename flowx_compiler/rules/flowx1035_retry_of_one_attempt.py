"""A retry that never tries again.

What it detects: `with_policy` with a `compensation_retry` of fewer than two attempts.

Why it matters: Attempts count the first one, so nothing is repeated, while the policy reads as if
it were.

When to suppress: Never needed: raise the number, or take the retry away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1035", "retry-of-one-attempt", WARNING)

INVALID = (
    Example(
        """\
flow.step(open_review).with_policy(UNDO).compensate_with(close_review)  # <-
""",
        module="""\
from flowx_runtime import PolicySet, Retry

UNDO: Final = PolicySet("undo", compensation_retry=Retry(attempts=1, backoff=JITTERED))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review).with_policy(UNDO).compensate_with(close_review)
""",
        module="""\
from flowx_runtime import PolicySet, Retry

UNDO: Final = PolicySet("undo", compensation_retry=Retry(attempts=3, backoff=JITTERED))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every undo whose policy gives it one attempt."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if not isinstance(step, model.Step) or step.policy is None or step.compensation is None:
                continue
            retry = step.policy.policy.compensation_retry
            if retry is not None and retry.attempts is not None and retry.attempts < 2:
                yield RULE.finding(
                    step.policy.place,
                    f"`{step.policy.policy.name.rpartition('.')[2]}` gives the undo "
                    f"{step.compensation.capability.id!r} {retry.attempts} attempt in all: it is never repeated",
                    label="retries nothing",
                    help="write at least `attempts=2`, or take `compensation_retry` away",
                    related=(Related(retry.place, "the retry"),),
                )
