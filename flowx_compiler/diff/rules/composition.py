"""How branches of a fork are joined, and how a flow inside a flow runs."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import Flow
from flowx_compiler.diff.groups import Pair
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.steps import inside, pair_steps

WEAKENED = Rule(
    "036",
    Verdict.BREAKING,
    "merge rule weakened, or sub-flow mode changed",
    detects=(
        "A fork asks less of its branches: from `AllMustSucceed` over `Quorum` and `FirstSuccess` to `AllSettled`."
        " Or a flow inside a flow changed between `Inline` and `Detached`."
    ),
    matters=(
        "A flow ends well with branches that failed; or its result no longer says anything about what the flow inside"
        " did, or suddenly waits for it."
    ),
    hurt="callers of the flow that read success as 'all of it is done'",
    advice="keep the rule, or publish the flow under a new major",
    mirror=("036",),
    one_sided="only a flow composes",
    asymmetry=("a merge rule made stricter promises everyone at least what they had; a mode is told both ways"),
)
RULES = (WEAKENED,)

_STRENGTH = {"AllSettled": 0, "FirstSuccess": 1, "Quorum": 2, "AllMustSucceed": 3}


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Forks and flows inside flows that differ."""
    for flow in comparison.flows.kept:
        hurt = f"{comparison.callers.of_flow(flow.key)} that read success as 'all of it is done'"
        yield from _forks(flow, hurt)
        yield from _sub_flows(flow, hurt)


def _forks(flow: Pair[Flow], hurt: str) -> Iterator[Finding]:
    keys = (lambda step: (step.name, inside(step)), inside, lambda step: step.kind)
    for number, (old, new) in enumerate(pair_steps(flow.old.steps, flow.new.steps, "Parallel", keys), start=1):
        before, after = _STRENGTH.get(old.merge), _STRENGTH.get(new.merge)
        if before is not None and after is not None and after < before:
            name = new.name or ", ".join(inside(new)) or str(number)
            yield WEAKENED.finding(f"flow {flow.key} fork of {name}", old.merge, new.merge, hurt=hurt)


def _sub_flows(flow: Pair[Flow], hurt: str) -> Iterator[Finding]:
    keys = (lambda step: (step.name, step.flow), lambda step: step.flow)
    for old, new in pair_steps(flow.old.steps, flow.new.steps, "SubFlow", keys):
        before, after = old.mode or "Inline", new.mode or "Inline"
        if before != after:
            yield WEAKENED.finding(f"flow {flow.key} sub-flow {new.flow}", before, after, hurt=hurt)
