"""A schedule on which everything wakes together.

What it detects: a poll, or a retry of a durable flow's step, whose backoff folds and has no jitter.

Why it matters: Instances parked in the same minute on the same schedule wake in the same second,
and a provider that could not keep up with the first wave gets the next one as a spike.

When to suppress: The number of instances is small and known, and you say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_runtime.plan import format_duration

RULE = Rule("FLOWX1060", "backoff-without-jitter", WARNING)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=STEADY,  # <-
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
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every folded backoff without jitter, in polls and in retries of durable flows."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            match construct:
                case model.Poll(interval=interval) if interval.folded is not None:
                    yield from _judge(
                        interval.folded, interval.value.place, interval.value.constant, interval.value.declared
                    )
                case model.Step(policy=policy) if (
                    policy is not None and flow.is_durable and policy.policy.retry is not None
                ):
                    retry = policy.policy.retry
                    if retry.backoff is not None:
                        yield from _judge(retry.backoff, policy.value.place, policy.policy.name, retry.place)
                case _:
                    pass


def _judge(backoff: model.Backoff, place: Place, constant: str | None, declared: Place | None) -> Iterator[Finding]:
    if backoff.growth == "exponential_jitter" or backoff.attempts == 1:
        return
    ceiling = backoff.ceiling if backoff.growth == "exponential" else backoff.base
    spelling = f'Backoff.exponential_jitter("{format_duration(backoff.base)}", "{format_duration(ceiling)}")'
    name = "this schedule" if constant is None else f"`{constant.rpartition('.')[2]}`"
    yield RULE.finding(
        place,
        f"{name} has no jitter: instances parked together wake together",
        label="the same gap for everybody",
        help=f"write `{spelling}`",
        related=() if declared is None else (Related(declared, "declared here"),),
    )
