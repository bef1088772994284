"""The named effects a capability has outside."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

ADDED = Rule(
    "016",
    Verdict.BREAKING,
    "side effect added",
    detects="A capability declares a side effect that it did not declare.",
    matters="Whatever was decided from the old declaration (compensation, confirmation, review) is out of date.",
    hurt="flows that call it without undoing it, and people who approved what it may touch",
    advice="review every flow that calls it; publish a new major when they cannot all be reviewed",
    mirror=("106",),
    one_sided="a flow's effects are those of its capabilities",
)
REMOVED = Rule(
    "106",
    Verdict.ADDITIVE,
    "side effect removed",
    detects="A capability no longer declares a side effect.",
    matters="It touches less than it did.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("016",),
    one_sided="a flow's effects are those of its capabilities",
)
RULES = (ADDED, REMOVED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities whose effects differ, one finding for each effect."""
    for capability in comparison.capabilities.kept:
        old, new = set(capability.old.side_effects), set(capability.new.side_effects)
        for name in sorted(new - old):
            hurt = f"{comparison.callers.of_capability(capability.key)}, and people who approved what it may touch"
            yield ADDED.finding(f"capability {capability.key} side effect {name}", "", name, hurt=hurt)
        for name in sorted(old - new):
            yield REMOVED.finding(f"capability {capability.key} side effect {name}", name)
