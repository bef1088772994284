"""Whether a person confirms what an agent starts."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.triggers import pair_addresses

WEAKENED = Rule(
    "009",
    Verdict.BREAKING,
    "confirmation weakened",
    detects=(
        "A trigger at the same address asks less of a person: from `Always` over `RequiredForSideEffects` to `Never`;"
        " or its confirmation was dropped, or is a word that is not known."
    ),
    matters="A person leaves the loop, and nothing else shows it.",
    hurt="whoever answers for what agents do here",
    advice="keep the confirmation, or have the change approved by name",
    mirror=("009", "108"),
    one_sided="only a flow has triggers",
)
STRENGTHENED = Rule(
    "108",
    Verdict.ADDITIVE,
    "confirmation strengthened",
    detects="A trigger's confirmation changed and is not weaker than it was.",
    matters="A person is asked more often.",
    hurt="nobody; agents will wait for an answer more often",
    advice="nothing to do",
    mirror=("009",),
    one_sided="only a flow has triggers",
)
RULES = (WEAKENED, STRENGTHENED)

_RANK = {"Never": 0, "RequiredForSideEffects": 1, "Always": 2}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Addresses on both sides that differ in it."""
    for flow in comparison.flows.kept:
        for place, old, new in pair_addresses(flow.old.triggers, flow.new.triggers).kept:
            if old.confirmation != new.confirmation:
                # A word that is not known, or no word, promises nothing: it ranks below `Never`.
                before, after = _RANK.get(old.confirmation, -1), _RANK.get(new.confirmation, -1)
                rule = WEAKENED if after < before or after == -1 else STRENGTHENED
                yield rule.finding(f"flow {flow.key} trigger {place}", old.confirmation, new.confirmation)
