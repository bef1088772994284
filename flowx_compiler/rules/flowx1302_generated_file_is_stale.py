"""A generated file that is not what the source builds.

What it detects: with `flowx build --check`, a plan module, a catalogue or a manifest on disk that a build would write
otherwise, or that is not there.

Why it matters: Services import the plans that are on disk. A change of a flow that was committed without its plan is a
change that never runs; a host then refuses the plan as older than its code. The check fails whatever the severity of
this rule is.

When to suppress: Never: run `flowx build` and commit what it writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Span

RULE = Rule("FLOWX1302", "generated-file-is-stale", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(open_review)
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")  # <-',
        before="""\
flow.step(open_review)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
        before="""\
# Whoever looks at it opens a review.
flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Nothing: only a check of what is on disk knows."""
    return RULE.problems(program)


def stale(file: str, *, is_missing: bool, made_from: Place | None) -> Finding:
    """What is said of a generated file.

    Args:
        file: relative to the root.
        is_missing: it is not there at all.
        made_from: the flow it is made from, where it is one flow's.
    """
    return RULE.finding(
        made_from or Place(file, Span(1, 1, 1, 1)),
        f"{file} is not there" if is_missing else f"{file} is not what this source builds",
        help="run `flowx build` and commit what it writes",
    )
