"""A flow of one major is there or not.

A removed flow is one finding: what it accepted, produced, waited for and was started by went with it and is not
reported again.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

GONE = Rule(
    "001",
    Verdict.BREAKING,
    "flow removed",
    detects="A flow's `id@major` is in the old manifest and not in the new one.",
    matters="Its triggers stop resolving, flows that compose it cannot be built, and its instances cannot go on.",
    hurt="whoever starts it, composes it, or waits for an instance of it",
    advice="keep the old major beside the new one until nobody starts it and no instance is open",
    mirror=("100",),
    across=("010", "020"),
)
ADDED = Rule(
    "100",
    Verdict.ADDITIVE,
    "flow added",
    detects="A flow's `id@major` is in the new manifest only. A second major beside the first is this and no more.",
    matters="Nothing that was there has changed.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("001",),
    across=("101", "102"),
)
RULES = (GONE, ADDED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Flows on one side only."""
    for flow in comparison.flows.gone:
        hurt = f"{comparison.callers.of_flow(flow.key)}, and its open instances"
        yield GONE.finding(f"flow {flow.key}", flow.version, hurt=hurt)
    for flow in comparison.flows.added:
        yield ADDED.finding(f"flow {flow.key}", "", flow.version)
