"""An address that starts a flow is there or not."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.triggers import pair_addresses

GONE = Rule(
    "005",
    Verdict.BREAKING,
    "trigger address removed",
    detects=(
        "No trigger of the flow has the old address: kind, method, route, transport, topic and schedule. Naming a"
        " transport where none was named is no other address. A changed schedule is an address gone and one added."
    ),
    matters="A route stops answering, a topic stops draining, a schedule stops firing.",
    hurt="whoever starts the flow there",
    advice="keep the old trigger beside the new one until nobody uses it",
    mirror=("103",),
    one_sided="only a flow has triggers",
)
ADDED = Rule(
    "103",
    Verdict.ADDITIVE,
    "trigger address added",
    detects="A trigger of the flow has an address that no old trigger had.",
    matters="One more way to start it.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("005",),
    one_sided="only a flow has triggers",
)
RULES = (GONE, ADDED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Addresses on one side only."""
    for flow in comparison.flows.kept:
        addresses = pair_addresses(flow.old.triggers, flow.new.triggers)
        for place in addresses.gone:
            yield GONE.finding(f"flow {flow.key} trigger {place}", place)
        for place in addresses.added:
            yield ADDED.finding(f"flow {flow.key} trigger {place}", "", place)
