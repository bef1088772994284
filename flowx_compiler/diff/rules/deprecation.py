"""The notice that a capability is going away."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

CHANGED = Rule(
    "204",
    Verdict.NEUTRAL,
    "deprecation notice changed",
    detects="A capability's deprecation notice changed, appeared or disappeared.",
    matters="It works as before; the notice says what to use instead.",
    hurt="nobody yet",
    advice="read the notice",
    mirror=("204",),
    one_sided="only a capability can carry the notice",
)
RULES = (CHANGED,)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities whose notice differs."""
    for capability in comparison.capabilities.kept:
        if capability.old.deprecated != capability.new.deprecated:
            subject = f"capability {capability.key}"
            yield CHANGED.finding(subject, capability.old.deprecated, capability.new.deprecated)
