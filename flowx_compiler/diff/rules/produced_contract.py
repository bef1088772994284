"""A contract that others read: the output of a flow or a capability, or an event.

It may be tightened, never relaxed. The same contract may also be accepted somewhere; then it gets the other verdict
too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.contract_rule import contract_findings
from flowx_compiler.diff.differences import Change, Difference
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.uses import Direction

REMOVED = Rule(
    "033",
    Verdict.BREAKING,
    "produced contract: field removed",
    detects=(
        "A contract that is produced no longer has a field, required or not: a field with a default is still always"
        " written. Or members that are not listed are no longer passed on."
    ),
    matters="Readers find nothing where they look.",
    hurt="everyone who reads the field",
    advice="go on writing the field, or publish a new major without it",
    mirror=("111",),
    across=("031", "032"),
)
WIDENED = Rule(
    "034",
    Verdict.BREAKING,
    "produced contract widened",
    detects=(
        "A field of a contract that is produced may hold more values or others: its type changed, it may be null or"
        " absent, an enum value came, or a constraint was loosened."
    ),
    matters="Readers meet values that they were told would not come.",
    hurt="everyone who reads such values",
    advice="write only the old values there, add a field beside it, or publish a new major",
    mirror=("034", "114"),
    across=("032", "112"),
)
ADDED = Rule(
    "111",
    Verdict.ADDITIVE,
    "produced contract: field added",
    detects="A contract that is produced has a field more, or passes members on that are not listed.",
    matters="Readers that do not know it leave it alone.",
    hurt="nobody; readers that refuse unknown fields have to be told",
    advice="nothing to do",
    mirror=("033",),
    across=("030", "110", "112"),
)
NARROWED = Rule(
    "114",
    Verdict.ADDITIVE,
    "produced contract narrowed",
    detects=(
        "A field of a contract that is produced holds fewer values: null or an enum value went, it is always there,"
        " or a constraint became tighter."
    ),
    matters="Readers are promised more than before.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("034",),
    across=("030", "032"),
)
RULES = (REMOVED, WIDENED, ADDED, NARROWED)

_BY_CHANGE = {
    Change.REMOVED: REMOVED,
    Change.CLOSED: REMOVED,
    Change.WIDENED: WIDENED,
    Change.RETYPED: WIDENED,
    Change.BECAME_OPTIONAL: WIDENED,
    Change.REQUIRED_ADDED: ADDED,
    Change.OPTIONAL_ADDED: ADDED,
    Change.OPENED: ADDED,
    Change.NARROWED: NARROWED,
    Change.BECAME_REQUIRED: NARROWED,
}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """What differs in contracts that are produced."""
    yield from contract_findings(comparison, Direction.PRODUCED, _BY_CHANGE, _advice)


def _advice(rule: Rule, _: Difference) -> str:
    return rule.advice
