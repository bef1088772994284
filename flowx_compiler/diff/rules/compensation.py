"""What undoes a step when its flow fails."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import Step
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.steps import pair_steps
from flowx_compiler.diff.versions import major

REMOVED = Rule(
    "035",
    Verdict.BREAKING,
    "compensation removed",
    detects="A step had a compensation and has none, while its capability still declares side effects.",
    matters="When the flow fails after it, the effect stays.",
    hurt="whoever relied on a failed flow leaving nothing behind",
    advice="undo the step again, or let it call something without side effects",
    mirror=("113",),
    one_sided="only a step is undone",
)
ADDED = Rule(
    "113",
    Verdict.ADDITIVE,
    "compensation added",
    detects="A step has a compensation and had none.",
    matters="When the flow fails after it, the effect is undone.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("035",),
    one_sided="only a step is undone",
    asymmetry="taking it away again breaks only while the capability still has side effects",
)
RULES = (REMOVED, ADDED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Steps that differ in whether they are undone."""
    with_effects = {f"{item.id}@{major(item.version)}" for item in comparison.new.capabilities if item.side_effects}
    for flow in comparison.flows.kept:
        pairs = pair_steps(
            flow.old.steps,
            flow.new.steps,
            "Capability",
            (
                lambda step: (step.name, _capability(step)),
                _capability,
            ),
        )
        for old, new in pairs:
            subject = f"flow {flow.key} step {new.name or _capability(new)}"
            if old.compensation and not new.compensation and _capability(new) in with_effects:
                hurt = f"{comparison.callers.of_flow(flow.key)} that rely on a failed flow leaving nothing behind"
                yield REMOVED.finding(subject, old.compensation, hurt=hurt)
            elif new.compensation and not old.compensation:
                yield ADDED.finding(subject, "", new.compensation)


def _capability(step: Step) -> str:
    identity, _, version = step.capability.partition("@")
    return f"{identity}@{major(version)}"
