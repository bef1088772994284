"""Whether a capability may be called again with the same request."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

LOST = Rule(
    "013",
    Verdict.BREAKING,
    "capability is no longer idempotent",
    detects="A capability's `idempotent` went from true to false.",
    matters="Retries and polls over it become compile errors (FLOWX1014, FLOWX1044) in other people's repositories.",
    hurt="flows that retry or poll it",
    advice="keep the promise, or publish a new major without it",
    mirror=("105",),
    across=("008",),
)
GAINED = Rule(
    "105",
    Verdict.ADDITIVE,
    "capability became idempotent",
    detects="A capability's `idempotent` went from false to true.",
    matters="Flows may retry it now.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("013",),
    across=("007",),
)
RULES = (LOST, GAINED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities that differ in it."""
    for capability in comparison.capabilities.kept:
        if capability.old.idempotent != capability.new.idempotent:
            rule = GAINED if capability.new.idempotent else LOST
            old, new = (str(side.idempotent).lower() for side in (capability.old, capability.new))
            hurt = f"{comparison.callers.of_capability(capability.key)} and retry or poll it" if rule is LOST else None
            yield rule.finding(f"capability {capability.key}", f"idempotent {old}", f"idempotent {new}", hurt=hurt)
