"""The time zone a schedule is read in."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.triggers import pair_addresses

CHANGED = Rule(
    "205",
    Verdict.NEUTRAL,
    "time zone changed",
    detects="A trigger at the same address is read in another time zone; none is UTC.",
    matters="The flow starts at other instants.",
    hurt="nobody directly; whoever expects it at a certain hour",
    advice="check what depends on the hour",
    mirror=("205",),
    one_sided="only a flow has triggers",
)
RULES = (CHANGED,)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Addresses on both sides that differ in it."""
    for flow in comparison.flows.kept:
        for place, old, new in pair_addresses(flow.old.triggers, flow.new.triggers).kept:
            if (old.time_zone or "UTC") != (new.time_zone or "UTC"):
                yield CHANGED.finding(f"flow {flow.key} trigger {place}", old.time_zone, new.time_zone)
