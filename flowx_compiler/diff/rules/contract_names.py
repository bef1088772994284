"""Contracts that changed in name only, and contracts nobody could compare."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.contract_rule import contract_findings
from flowx_compiler.diff.differences import Change, Difference
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.uses import Direction

RENAMED = Rule(
    "210",
    Verdict.NEUTRAL,
    "contract renamed",
    detects="A contract with another name stands where one stood, and the two have one shape.",
    matters="What is sent and read is the same; only code that imports the contract by name notices.",
    hurt="code that imports the contract by its name",
    advice="nothing to do for callers",
    mirror=("210",),
    one_sided="one rule for contracts of both sides",
)
OPAQUE = Rule(
    "211",
    Verdict.NEUTRAL,
    "contract not compared",
    detects=(
        "A contract, or a part of it, is opaque on one side, or for another reason than before; or one side does not"
        " say what an event carries."
    ),
    matters="It is a fact about the build: something may have changed unseen.",
    hurt="nobody; the report is silent about this contract",
    advice="write the contract so that its shape can be derived, or review the change by hand",
    mirror=("211",),
    one_sided="one rule for contracts of both sides",
)
RULES = (RENAMED, OPAQUE)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Renamed contracts, and those with an opaque side."""
    for old, new in comparison.usage.renames:
        yield RENAMED.finding(f"contract {old}", old, new)
    for event in comparison.events.kept:
        old_contract, new_contract = event.old.contract, event.new.contract
        if (old_contract is None) != (new_contract is None):
            names = ("" if contract is None else contract.type for contract in (old_contract, new_contract))
            yield OPAQUE.finding(f"event {event.key}", *names)
    found: dict[tuple[str, str], Finding] = {}
    for direction in Direction:
        for finding in contract_findings(comparison, direction, {Change.OPAQUE: OPAQUE}, _advice):
            earlier = found.get((finding.subject, finding.new))
            # A contract used on both sides is still not compared only once.
            found[finding.subject, finding.new] = finding if earlier is None else earlier
    yield from found.values()


def _advice(rule: Rule, _: Difference) -> str:
    return rule.advice
