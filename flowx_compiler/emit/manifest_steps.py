"""A flow's steps as the manifest has them: nested, as the author wrote them, with the indices of the plan.

What is no design of the author's (jumps) and what is a value or tuning (predicates, case values, quorum sizes,
intervals, policy parameters) is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, assert_never

from flowx_compiler import model
from flowx_compiler.lower import plan_model as plan
from flowx_runtime.plan import format_duration

_STAGES: Mapping[str, str] = {
    "rate_limit": "Admission",
    "quota": "Admission",
    "consent": "Identity",
    "idempotency": "Integrity",
    "validate": "Integrity",
    "timeout": "Resilience",
    "retry": "Resilience",
    "circuit_breaker": "Resilience",
    "bulkhead": "Resilience",
    "hedge": "Resilience",
    "fallback": "Resilience",
    "cache": "Efficiency",
    "audit": "Consistency",
    "compensation_retry": "Consistency",
}


def manifest_steps(body: model.Sequence, nodes: tuple[plan.Node, ...]) -> list[dict[str, Any]]:
    """The steps of a flow's body, which its plan lays out in the same order."""
    return _Steps(node for node in nodes if not isinstance(node, plan.Jump)).sequence(body)


def published_name(name: str) -> str:
    """A word of ours in the manifest's spelling: `compensation_retry` is `CompensationRetry`."""
    return "".join(part.capitalize() for part in name.split("_"))


class _Steps:
    """Walks the constructs and takes the node of each; jumps belong to none."""

    def __init__(self, nodes: Iterator[plan.Node]) -> None:
        self._nodes = nodes

    def sequence(self, body: model.Sequence) -> list[dict[str, Any]]:
        return [step for construct in body.constructs for step in self._construct(construct)]

    def _construct(self, construct: model.Construct) -> list[dict[str, Any]]:
        if isinstance(construct, model.Parallel) and len(construct.branches) == 1:
            return self.sequence(construct.branches[0])  # one branch is no fork, and has no node
        step = _node(next(self._nodes))
        blocks = self._blocks(construct)
        return [step | {"branches": blocks} if blocks is not None else step]

    def _blocks(self, construct: model.Construct) -> list[list[dict[str, Any]]] | None:
        match construct:
            case model.When():
                blocks = [self.sequence(construct.then)]
                # One entry means that there is no alternative.
                return blocks if construct.otherwise is None else [*blocks, self.sequence(construct.otherwise)]
            case model.Switch():
                cases = [self.sequence(case.block) for case in construct.cases]
                # The default is always there: a reader tells a handled miss from falling through.
                return [*cases, [] if construct.default is None else self.sequence(construct.default)]
            case model.Parallel():
                return [self.sequence(branch) for branch in construct.branches]
            case model.ForEach():
                return [self.sequence(construct.body)]
            case model.AwaitSignal():
                return None if construct.on_timeout is None else [self.sequence(construct.on_timeout)]
            case model.Poll():
                attempt = [_node(next(self._nodes))]
                return [attempt] if construct.on_timeout is None else [attempt, self.sequence(construct.on_timeout)]
            case model.Step() | model.SubFlow() | model.Delay() | model.Emit() | model.Fail():
                return None
            case _:
                assert_never(construct)


def _node(node: plan.Node) -> dict[str, Any]:
    step: dict[str, Any] = {"id": node.index}
    match node:
        case plan.Step():
            undo = None if node.compensation is None else f"{node.compensation.id}@{node.compensation.version}"
            step |= {"kind": "Capability", "name": node.name, "compensation": undo}
            step |= {"capability": f"{node.capability.id}@{node.capability.version}", "policies": _policies(node)}
        case plan.Branch():
            step |= {"kind": "Condition"}
        case plan.Switch():
            step |= {"kind": "Switch"}
        case plan.Parallel():
            step |= {"kind": "Parallel", "merge": published_name(node.merge.rule)}
        case plan.ForEach():
            step |= {"kind": "ForEach"}
        case plan.SubFlow():
            mode = "Detached" if node.is_detached else "Inline"
            step |= {"kind": "SubFlow", "name": node.name, "flow": node.flow_id, "mode": mode}
        case plan.AwaitSignal():
            step |= {"kind": "AwaitSignal", "name": node.name, "signal": node.signal.id}
            step |= {"timeout": _duration(node.folded_timeout)}
        case plan.Delay():
            step |= {"kind": "Delay", "name": node.name}
        case plan.Poll():
            step |= {"kind": "Poll", "signal": None if node.signal is None else node.signal.id}
            step |= {"timeout": _duration(node.folded_timeout)}
        case plan.Emit():
            step |= {"kind": "Emit", "name": node.name, "event": node.event.id}
        case plan.Fail():
            step |= {"kind": "Fail"}
        case plan.Jump():
            raise AssertionError("a jump belongs to no construct")
        case _:
            assert_never(node)
    return {key: value for key, value in step.items() if value is not None}


def _policies(step: plan.Step) -> list[dict[str, str]] | None:
    """Kind and stage; an unknown kind is left out rather than given a stage by guess: the stage is what is safe."""
    kinds = () if step.policy_facts is None else step.policy_facts.kinds
    return [{"kind": published_name(kind), "stage": _STAGES[kind]} for kind in kinds if kind in _STAGES] or None


def _duration(value: timedelta | None) -> str | None:
    return None if value is None else format_duration(value)
