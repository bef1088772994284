"""A capability of one major is there or not."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

GONE = Rule(
    "010",
    Verdict.BREAKING,
    "capability removed",
    detects="A capability's `id@major` is in the old manifest and not in the new one.",
    matters="Flows pin the major they were compiled against; it no longer resolves, also for instances already parked.",
    hurt="flows of other projects that call it, and plans compiled against it",
    advice="keep the old major beside the new one until no flow and no loadable plan names it",
    mirror=("101",),
    across=("001", "020"),
)
ADDED = Rule(
    "101",
    Verdict.ADDITIVE,
    "capability added",
    detects="A capability's `id@major` is in the new manifest only.",
    matters="Nothing that was there has changed.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("010",),
    across=("100", "102"),
)
RULES = (GONE, ADDED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities on one side only."""
    for capability in comparison.capabilities.gone:
        hurt = f"{comparison.callers.of_capability(capability.key)}, and plans compiled against it"
        yield GONE.finding(f"capability {capability.key}", capability.version, hurt=hurt)
    for capability in comparison.capabilities.added:
        yield ADDED.finding(f"capability {capability.key}", "", capability.version)
