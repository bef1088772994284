"""A contract that others fill in: the input of a flow or a capability, or a signal.

It may be relaxed, never tightened. The same contract may also be produced somewhere; then it gets the other verdict
too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.contract_rule import contract_findings
from flowx_compiler.diff.differences import Change, Difference
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.uses import Direction

REQUIRED = Rule(
    "030",
    Verdict.BREAKING,
    "accepted contract needs a field",
    detects="A required field was added to a contract that is accepted, or an optional one became required.",
    matters="Values that were complete are refused now.",
    hurt="everyone who sends the contract",
    advice="give the field a default, or publish a new major with it",
    mirror=("031", "112"),
    across=("111", "114"),
)
REMOVED = Rule(
    "031",
    Verdict.BREAKING,
    "accepted contract: field removed",
    detects=(
        'A contract that is accepted no longer has a field. When a field of the same type appeared, it says "renamed?".'
    ),
    matters="What callers send there is refused, or dropped without a word.",
    hurt="everyone who sends the field",
    advice="keep the field and ignore it, or publish a new major without it",
    mirror=("030", "110"),
    across=("033",),
)
NARROWED = Rule(
    "032",
    Verdict.BREAKING,
    "accepted contract narrowed",
    detects=(
        "A field of a contract that is accepted takes fewer values or others: its type changed, null or an enum value"
        " went, a constraint became tighter, or members that are not listed are refused."
    ),
    matters="Values that were fine are refused now.",
    hurt="everyone who sends such values",
    advice="go on accepting the old values, or publish a new major",
    mirror=("032", "112"),
    across=("033", "034", "114"),
)
OPTIONAL = Rule(
    "110",
    Verdict.ADDITIVE,
    "accepted contract: optional field added",
    detects="A contract that is accepted has a field more, and does not require it.",
    matters="Old callers leave it out. Its default is applied by the new side only.",
    hurt="nobody",
    advice="check that the default does what was done before the field was there",
    mirror=("031",),
    across=("111",),
)
RELAXED = Rule(
    "112",
    Verdict.ADDITIVE,
    "accepted contract relaxed",
    detects=(
        "A field of a contract that is accepted takes more values, is no longer required, or may be null; or members"
        " that are not listed are no longer refused."
    ),
    matters="Whatever callers send is still fine.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("030", "032"),
    across=("034", "111"),
)
RULES = (REQUIRED, REMOVED, NARROWED, OPTIONAL, RELAXED)

_BY_CHANGE = {
    Change.REQUIRED_ADDED: REQUIRED,
    Change.BECAME_REQUIRED: REQUIRED,
    Change.REMOVED: REMOVED,
    Change.NARROWED: NARROWED,
    Change.RETYPED: NARROWED,
    Change.CLOSED: NARROWED,
    Change.OPTIONAL_ADDED: OPTIONAL,
    Change.WIDENED: RELAXED,
    Change.BECAME_OPTIONAL: RELAXED,
    Change.OPENED: RELAXED,
}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """What differs in contracts that are accepted."""
    yield from contract_findings(comparison, Direction.ACCEPTED, _BY_CHANGE, _advice)


def _advice(rule: Rule, difference: Difference) -> str:
    if difference.change is Change.REMOVED and difference.hint:
        return "accept the old name too (an alias), or publish a new major"
    return rule.advice
