"""Whether a member of a contract is marked sensitive.

The two directions differ on purpose: a gate that fails when a member is marked would teach people not to mark.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

UNMARKED = Rule(
    "006",
    Verdict.BREAKING,
    "member no longer sensitive",
    detects=(
        "A member that was marked sensitive is still there and not marked. A member that is gone is told by the rules"
        " about fields. Looked at for inputs, outputs, events and signals, also inside nested contracts."
    ),
    matters="Its value now reaches logs, traces and the journal, and stays there.",
    hurt="the people whose data it is",
    advice="mark the member again",
    mirror=("107",),
    one_sided="one rule for inputs, outputs, events and signals alike",
)
MARKED = Rule(
    "107",
    Verdict.ADDITIVE,
    "member newly sensitive",
    detects="A member that was there unmarked is marked sensitive.",
    matters="Its value is withheld where it was shown.",
    hurt="nobody; it disappears from logs and error bodies",
    advice="nothing to do",
    mirror=("006",),
    one_sided="one rule for inputs, outputs, events and signals alike",
)
RULES = (UNMARKED, MARKED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Uses of a contract whose marks moved."""
    for moved in comparison.usage.marks:
        if moved.unmarked:
            yield UNMARKED.finding(moved.use.subject, f"{', '.join(moved.unmarked)} sensitive", "not marked")
        if moved.marked:
            yield MARKED.finding(moved.use.subject, "not marked", f"{', '.join(moved.marked)} sensitive")
