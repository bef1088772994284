"""A step that binds what only the signal ending leaves.

What it detects: after `poll_until(…).or_signal(S)`, a step that binds S, or a `ctx.get(S)`, while
nothing else leaves S on both endings; also behind `on_timeout`.

Why it matters: Both endings continue at the same place. It works when the notification arrives and
fails when the poll does its job, which is the normal ending; a test that delivers the signal
passes.

When to suppress: Never: bind what the poll produced, or give the step a map that uses
`ctx.find(S)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.slots import Cause, Sometimes, uses
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1050", "binds-the-signal-ending", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(start_job)
(
    flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")
    .or_signal(JobFinished)
    .on_timeout(lambda late: late.fail(TooLate))
)
flow.step(confirm_job)  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(start_job)
(
    flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")
    .or_signal(JobFinished)
    .on_timeout(lambda late: late.fail(TooLate))
)
flow.step(confirm_job, lambda ctx: ctx.find(JobFinished) or JobFinished(job_id=ctx.get(JobStatus).job_id))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every take of a slot that the signal ending of a poll fills, and nothing else."""
    for flow in program.flows.values():
        if not flow.is_sound:
            continue
        for use in uses(program, flow):
            match use.presence:
                case Sometimes(cause=Cause.SIGNAL_ENDING, place=poll):
                    wanted = use.contract.rpartition(".")[2]
                    verb = "binds" if use.is_bound else "reads"
                    yield RULE.finding(
                        use.place,
                        f"{use.taker} {verb} {wanted}, which is there only if the signal ended the poll",
                        label="missing when the poll's own predicate ends it",
                        help=f"bind what the poll produces, or choose: `ctx.find({wanted}) or …`",
                        related=(Related(poll, "this poll has two endings"),),
                    )
                case _:
                    pass
