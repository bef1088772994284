"""A retry of an undo that does not exist.

What it detects: `with_policy` with a `compensation_retry` on a step without `compensate_with`.

Why it matters: The manifest would promise an undo that is retried, and the plan has none.

When to suppress: Never: declare the undo, or use a policy without that retry.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1033", "undo-retry-without-an-undo", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review).with_policy(UNDO)  # <-
""",
        module="""\
from flowx_runtime import PolicySet, Retry

UNDO: Final = PolicySet("undo", compensation_retry=Retry(attempts=3, backoff=JITTERED))
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
    """Every step whose policy retries an undo it does not have."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if not isinstance(step, model.Step) or step.policy is None or step.compensation is not None:
                continue
            retry = step.policy.policy.compensation_retry
            if retry is not None:
                yield RULE.finding(
                    step.policy.place,
                    f"`{step.policy.policy.name.rpartition('.')[2]}` retries the undo of "
                    f"{step.capability.capability.id!r}, which has none",
                    label="nothing to retry",
                    help="add `.compensate_with(…)`, or use a policy without `compensation_retry`",
                    related=(Related(retry.place, "the retry"),),
                )
