"""The execution profile of a flow."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

LOST = Rule(
    "004",
    Verdict.BREAKING,
    "flow is no longer durable",
    detects="A flow's profile was `Durable` and is another one now.",
    matters="The promise to survive a crash is withdrawn while every signature stays the same.",
    hurt="callers that rely on a started flow reaching its end",
    advice="keep the profile, or publish the flow under a new major",
    mirror=("202",),
    one_sided="only a flow has a profile",
)
CHANGED = Rule(
    "202",
    Verdict.NEUTRAL,
    "profile changed",
    detects="A flow's profile changed in any way other than losing `Durable`.",
    matters="It costs more or less to run; callers see the same contract.",
    hurt="nobody; operators will see a journal, or none",
    advice="check that the host has what the profile needs",
    mirror=("004", "202"),
    one_sided="only a flow has a profile",
)
RULES = (LOST, CHANGED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Flows whose profile differs."""
    for flow in comparison.flows.kept:
        if flow.old.profile != flow.new.profile:
            rule = LOST if flow.old.profile == "Durable" else CHANGED
            hurt = f"{comparison.callers.of_flow(flow.key)} that rely on it ending" if rule is LOST else None
            yield rule.finding(f"flow {flow.key}", flow.old.profile, flow.new.profile, hurt=hurt)
