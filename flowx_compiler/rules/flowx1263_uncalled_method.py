"""A method that is named and not called.

What it detects: a predicate whose answer is a method of a contract, or a function, without the
parentheses.

Why it matters: The object is always true: the poll ends after one attempt, the branch is always
taken.

When to suppress: Never: call it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.predicates import answers, predicates, uncalled
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1263", "uncalled-method", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).is_done,  # <-
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).is_done(),
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every predicate that answers with something callable."""
    for flow in program.flows.values():
        for function in predicates(flow):
            for answer in answers(function.syntax):
                name = uncalled(program, flow, function, answer)
                if name is not None:
                    file = program.modules[function.module].file
                    yield RULE.finding(
                        Place(file, answer.span),
                        f"`{name}` is a method and is not called: it is always true",
                        label="never false",
                        help=f"write `{name}()`",
                    )
