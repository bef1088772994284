"""A policy set that the compiler cannot read.

What it detects: `with_policy` with a set whose values are not literals or constants: read from the
environment, computed, or given as `**options`.

Why it matters: The rules that keep an effect from happening twice read the policy. What they cannot
read, they cannot judge, and the manifest cannot publish it.

When to suppress: Never: write the values out; what must differ between deployments is a setting of
the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1036", "policy-not-readable", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review).with_policy(TUNED)  # <-
""",
        module="""\
import os

from flowx_runtime import PolicySet, Retry

TUNED: Final = PolicySet("tuned", retry=Retry(attempts=int(os.environ.get("ATTEMPTS", "3")), backoff=JITTERED))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review).with_policy(SAFE_RETRY)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every step with such a policy."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if isinstance(step, model.Step) and step.policy is not None and not step.policy.policy.is_readable:
                policy = step.policy.policy
                yield RULE.finding(
                    step.policy.place,
                    f"`{policy.name.rpartition('.')[2]}` is not made of constants, so no rule can judge it on "
                    f"{step.capability.capability.id!r}",
                    label="not judged",
                    help="write its values as literals, or as module-level constants",
                    related=(Related(policy.place, "assigned here"),),
                )
