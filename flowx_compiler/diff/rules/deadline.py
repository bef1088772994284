"""The whole budget of a flow."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

CHANGED = Rule(
    "203",
    Verdict.NEUTRAL,
    "deadline changed",
    detects="A flow's declared deadline changed, appeared or disappeared.",
    matters="It is an operational budget.",
    hurt="nobody; callers may wait longer or shorter for an answer",
    advice="check time limits of callers",
    mirror=("203",),
    one_sided="only a flow has a deadline",
)
RULES = (CHANGED,)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Flows whose deadline differs."""
    for flow in comparison.flows.kept:
        if flow.old.deadline != flow.new.deadline:
            yield CHANGED.finding(f"flow {flow.key}", flow.old.deadline, flow.new.deadline)
