"""The category of an error code."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

CHANGED = Rule(
    "018",
    Verdict.BREAKING,
    "error category changed",
    detects="One error code has another category. It is told once for the code, with the capabilities that list it.",
    matters="The category decides the status a caller sees, and with it whether the caller tries again.",
    hurt="callers that decide by status whether to try again",
    advice="keep the category, or use a new code",
    mirror=("018",),
    one_sided="told once for a code, wherever it is listed",
)
RULES = (CHANGED,)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Codes of both documents with different categories."""
    old, new = comparison.old.errors, comparison.new.errors
    for code in sorted(old.keys() & new.keys()):
        if old[code] != new[code]:
            listed = [pair.key for pair in comparison.capabilities.kept if code in (pair.old.errors or ())]
            hurt = f"callers of {', '.join(listed)} that decide by status whether to try again" if listed else None
            yield CHANGED.finding(f"error {code}", old[code], new[code], hurt=hurt)
