"""A retry of something that must not be repeated.

What it detects: `with_policy` with a retry of more than one attempt over a capability that does not
declare `idempotent=True`.

Why it matters: A call that failed may have done its work before it failed. The retry does it again.

When to suppress: Never: declare idempotence where it is true, or take the retry away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1014", "retry-over-non-idempotent", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).with_policy(SAFE_RETRY).compensate_with(release_inventory)  # <-
""",
    ),
)

VALID = (
    Example(
        "flow.step(open_review).with_policy(SAFE_RETRY)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every retried step, and every retried undo, whose capability is not idempotent."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if not isinstance(step, model.Step) or step.policy is None:
                continue
            policy = step.policy.policy
            yield from _judge(step, policy.retry, step.capability.capability)
            if step.compensation is not None:
                yield from _judge(step, policy.compensation_retry, step.compensation.capability)


def _judge(step: model.Step, retry: model.Retry | None, capability: model.Capability) -> Iterator[Finding]:
    if retry is None or retry.attempts == 1 or capability.idempotent or step.policy is None:
        return
    times = "" if retry.attempts is None else f" up to {retry.attempts} times"
    yield RULE.finding(
        step.policy.place,
        f"`{step.policy.policy.name.rpartition('.')[2]}` calls {capability.id!r}{times}, and it is not idempotent",
        label="a failed call may have done its work",
        help="declare `idempotent=True` if repeating it with the same key is harmless, else retry nothing",
        related=(Related(retry.place, "the retry"), Related(capability.place, "declared here without idempotent=True")),
    )
