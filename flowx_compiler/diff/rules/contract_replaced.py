"""Another contract stands where one stood.

Names do not decide: a contract that only got another name has the same shape, and is told as renamed (210). What
differs inside is one finding here, not one for each field.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import TypeRef
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.uses import Place

_ADVICE = "keep the contract and change it compatibly, or publish a new major beside the old one"


def _rule(number: str, what: str, why: str, hurt: str, across: tuple[str, ...]) -> Rule:
    return Rule(
        number,
        Verdict.BREAKING,
        f"{what} is another contract",
        detects=f"The {what} of one `id@major` names another contract, and its shape differs or cannot be compared.",
        matters=why,
        hurt=hurt,
        advice=_ADVICE,
        mirror=(number,),
        across=across,
    )


FLOW_INPUT = _rule("002", "flow input", "Callers build that contract.", "callers of the flow", ("003", "011"))
FLOW_OUTPUT = _rule(
    "003", "flow output", "Callers parse that contract.", "readers of the flow's result", ("002", "012")
)
CAPABILITY_INPUT = _rule(
    "011",
    "capability input",
    "It is frozen within a major, and nothing in the version shows it.",
    "flows that call it",
    ("002", "012"),
)
CAPABILITY_OUTPUT = _rule(
    "012",
    "capability output",
    "It is frozen within a major, and nothing in the version shows it.",
    "flows that read its result",
    ("003", "011"),
)
RULES = (FLOW_INPUT, FLOW_OUTPUT, CAPABILITY_INPUT, CAPABILITY_OUTPUT)

_BY_PLACE = {
    Place.FLOW_INPUT: FLOW_INPUT,
    Place.FLOW_OUTPUT: FLOW_OUTPUT,
    Place.CAPABILITY_INPUT: CAPABILITY_INPUT,
    Place.CAPABILITY_OUTPUT: CAPABILITY_OUTPUT,
}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Uses of a contract that hold another one now."""
    for use in comparison.usage.replaced:
        yield _BY_PLACE[use.place].finding(
            use.subject, _name(use.old), _name(use.new), hurt=use.who(comparison.callers)
        )


def _name(reference: TypeRef | None) -> str:
    return "" if reference is None else reference.type
