"""Whether a trigger demands an idempotency key."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import Trigger
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.triggers import pair_addresses

DEMANDED = Rule(
    "007",
    Verdict.BREAKING,
    "idempotency key demanded",
    detects="A trigger at the same address is `idempotent` now and was not.",
    matters="A request without a key is refused at admission.",
    hurt="callers that send no key",
    advice="add a second route that demands the key, and retire the first when nobody calls it without one",
    mirror=("008",),
    across=("105",),
)
WITHDRAWN = Rule(
    "008",
    Verdict.BREAKING,
    "deduplication withdrawn",
    detects="A trigger at the same address was `idempotent` and is not any more. Absent and false are the same.",
    matters="Nothing fails: a repeated request does the work a second time.",
    hurt="callers that repeat requests and rely on their key",
    advice="keep `idempotent=True`",
    mirror=("007",),
    across=("013",),
)
RULES = (DEMANDED, WITHDRAWN)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Addresses on both sides that differ in it."""
    for flow in comparison.flows.kept:
        for place, old, new in pair_addresses(flow.old.triggers, flow.new.triggers).kept:
            if (old.idempotent is True) != (new.idempotent is True):
                rule = DEMANDED if new.idempotent else WITHDRAWN
                yield rule.finding(f"flow {flow.key} trigger {place}", _text(old), _text(new))


def _text(trigger: Trigger) -> str:
    return "" if trigger.idempotent is None else f"idempotent {str(trigger.idempotent).lower()}"
