"""An event of one major is published or not."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

GONE = Rule(
    "020",
    Verdict.BREAKING,
    "event removed",
    detects="An event's `type@major` is in the old manifest and not in the new one; also when its major moved on.",
    matters="Subscribers pinned to it receive nothing, and nothing tells them.",
    hurt="its subscribers, silently",
    advice="publish the old major beside the new one until its subscribers have moved",
    mirror=("102",),
    across=("001", "010", "021"),
)
ADDED = Rule(
    "102",
    Verdict.ADDITIVE,
    "event added",
    detects="An event's `type@major` is in the new manifest only.",
    matters="Nobody is subscribed to it yet.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("020",),
    across=("100", "101", "022"),
)
RULES = (GONE, ADDED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Events on one side only."""
    for event in comparison.events.gone:
        hurt = f"{comparison.callers.of_event(event.key)}, silently"
        yield GONE.finding(f"event {event.key}", event.version, hurt=hurt)
    for event in comparison.events.added:
        yield ADDED.finding(f"event {event.key}", "", event.version)
