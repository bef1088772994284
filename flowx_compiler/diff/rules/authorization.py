"""Who may run a capability. Both directions break: one is a regression, the other an outage."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import Capability
from flowx_compiler.diff.rule import Finding, Rule, Verdict

RELAXED = Rule(
    "014",
    Verdict.BREAKING,
    "authorization relaxed",
    detects=(
        "A capability's stance reaches more callers: from `Internal` over `Permission` and `Policy`, then"
        " `Authenticated`, to `Public`."
    ),
    matters="It is a security regression, and is labelled as one.",
    hurt="whoever relies on others being refused",
    advice="have the change reviewed as a security change, or publish a new major with the wider stance",
    mirror=("015",),
    one_sided="a flow, an event or a signal declares no stance; it has those of the capabilities",
)
CHANGED = Rule(
    "015",
    Verdict.BREAKING,
    "authorization tightened or changed",
    detects=(
        "A capability's stance reaches fewer callers, moved between `Permission` and `Policy`, is missing or not"
        " known on one side, or asks for another permission or policy."
    ),
    matters="Callers who passed may be refused.",
    hurt="callers without the new permission",
    advice="grant the new permission before this is deployed, or publish a new major",
    mirror=("014", "015"),
    one_sided="a flow, an event or a signal declares no stance; it has those of the capabilities",
)
RULES = (RELAXED, CHANGED)

_REACH = {"Public": 4, "Authenticated": 3, "Permission": 2, "Policy": 2, "Internal": 1}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities whose stance differs."""
    for capability in comparison.capabilities.kept:
        old, new = capability.old, capability.new
        if old.mode == new.mode and old.mode_value == new.mode_value:
            continue
        both_known = old.mode in _REACH and new.mode in _REACH
        rule = RELAXED if both_known and _REACH[new.mode] > _REACH[old.mode] else CHANGED
        hurt = f"{rule.hurt}; {comparison.callers.of_capability(capability.key)}" if rule is CHANGED else None
        yield rule.finding(f"capability {capability.key}", _stance(old), _stance(new), hurt=hurt)


def _stance(capability: Capability) -> str:
    return f"{capability.mode}({capability.mode_value})" if capability.mode_value else capability.mode
