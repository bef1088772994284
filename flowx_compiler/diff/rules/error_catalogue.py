"""The error codes a capability may answer with.

Absent is not empty: a withheld catalogue says nothing, and comparing it as if it were empty would report every code
of the other side.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict

GONE = Rule(
    "017",
    Verdict.BREAKING,
    "error code removed",
    detects="A capability's catalogue lists a code in the old manifest and not in the new one; both are complete.",
    matters="Codes vanish mostly because they were renamed: branches that match the old one silently stop matching.",
    hurt="callers that branch on the code",
    advice="keep the code, or publish a new major",
    mirror=("104",),
    one_sided="a flow's codes are those of its capabilities",
)
ADDED = Rule(
    "104",
    Verdict.ADDITIVE,
    "error code added",
    detects="A capability's catalogue lists a code that it did not list; both are complete.",
    matters="A code nobody knows falls into the caller's default branch.",
    hurt="nobody; callers may want a branch for it",
    advice="tell callers about the code",
    mirror=("017",),
    one_sided="a flow's codes are those of its capabilities",
)
WITHHELD = Rule(
    "019",
    Verdict.NEUTRAL,
    "error catalogues not compared",
    detects="One side's error catalogue is withheld. When both are, there is nothing to say.",
    matters="It is a fact about the build, not about the contract: codes may have come or gone unseen.",
    hurt="nobody; the report is silent about this capability's errors",
    advice="declare `errors=` so that the catalogue is complete",
    mirror=("019",),
    one_sided="a flow's codes are those of its capabilities",
)
RULES = (GONE, ADDED, WITHHELD)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Capabilities whose catalogues differ."""
    for capability in comparison.capabilities.kept:
        old, new = capability.old.errors, capability.new.errors
        if old is None or new is None:
            if (old is None) != (new is None):
                yield WITHHELD.finding(f"capability {capability.key}", _state(old), _state(new))
            continue
        for code in sorted(set(old) - set(new)):
            hurt = f"{comparison.callers.of_capability(capability.key)} and branch on the code"
            yield GONE.finding(f"capability {capability.key} error {code}", code, hurt=hurt)
        for code in sorted(set(new) - set(old)):
            yield ADDED.finding(f"capability {capability.key} error {code}", "", code)


def _state(errors: tuple[str, ...] | None) -> str:
    return "withheld" if errors is None else "complete"
