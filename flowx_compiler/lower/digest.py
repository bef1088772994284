"""The digest of a plan: equal exactly where an instance started under one plan may go on under the other."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import assert_never

from flowx_compiler.contracts.published import Published
from flowx_compiler.lower import plan_model as plan
from flowx_compiler.model import Capability, TypeExpr


def digest(model: plan.PlanModel, published: Published) -> str:
    """SHA-256 over everything that changes the flow's meaning, and nothing that does not.

    Args:
        model: the plan, with no digest yet.
        published: the shapes of the program's contracts, which instances under way hold values of.
    """
    canonical = {
        "flow": model.flow_id,
        "durable": model.is_durable,
        "deadline": _duration(model.deadline),
        "input": _contract_name(model.input),
        "output": _contract_name(model.output),
        "nodes": [_node(node) for node in model.nodes],
        "returns": None if model.returns is None else model.returns.canonical,
        "onFailure": [[emit.event.id, emit.payload.canonical] for emit in model.on_failure],
        "contracts": {
            name: _contract_digest(published, name, told)
            for name, told in published.told(_held(model, published)).items()
        },
        "reads": {name: meant.fingerprint for name, meant in model.decides.items() if meant.text},
    }
    text = json.dumps(canonical, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _node(node: plan.Node) -> list[object]:
    match node:
        case plan.Step():
            undo = None if node.compensation is None else _capability(node.compensation)
            policy = None
            if node.policy is not None:
                policy = node.policy.canonical if node.policy_facts is None else _policy(node)
            return ["step", node.name, _capability(node.capability), _code(node.request), undo, policy]
        case plan.Branch():
            return ["branch", node.predicate.canonical, node.otherwise]
        case plan.Jump():
            return ["jump", node.target]
        case plan.Switch():
            return [
                "switch",
                node.selector.canonical,
                [[value.canonical, target] for value, target in node.cases],
                node.default,
            ]
        case plan.Parallel():
            return ["parallel", node.branches, node.join, node.merge.rule, node.merge.needed]
        case plan.ForEach():
            # The concurrency of a loop is a tuning number: rows are the same whatever it is.
            return ["for_each", node.selector.canonical, _contract_name(node.item), node.join, node.continue_on_error]
        case plan.SubFlow():
            return ["sub_flow", node.name, node.flow_id, _major(node.version), node.request.canonical, node.is_detached]
        case plan.AwaitSignal():
            return [
                "await_signal",
                node.name,
                node.signal.id,
                _wait(node.timeout, node.folded_timeout),
                node.signal_target,
            ]
        case plan.Delay():
            return ["delay", node.name, _wait(node.duration, node.folded_duration)]
        case plan.Poll():
            signal = None if node.signal is None else node.signal.id
            wait = _wait(node.timeout, node.folded_timeout)
            return ["poll", node.until.canonical, node.interval.canonical, wait, node.satisfied_target, signal]
        case plan.Emit():
            return ["emit", node.name, node.event.id, _major(node.event.version), node.payload.canonical]
        case plan.Fail():
            return ["fail", node.code]
        case _:
            assert_never(node)


def _code(lifted: plan.Lifted | None) -> str | None:
    return None if lifted is None else lifted.canonical


def _wait(fragment: plan.Fragment, folded: timedelta | None) -> str | None:
    return fragment.canonical if folded is None else _duration(folded)


def _duration(value: timedelta | None) -> str | None:
    return None if value is None else str(value.total_seconds())


def _capability(capability: Capability) -> list[object]:
    return [
        capability.id,
        _major(capability.version),
        _contract_name(capability.request),
        _contract_name(capability.result),
        capability.idempotent,
        capability.side_effects,
    ]


def _policy(step: plan.Step) -> object:
    facts = step.policy_facts
    assert facts is not None, "asked only where a policy is known"
    return [
        facts.label,
        _duration(facts.timeout),
        repr(None if facts.retry is None else (facts.retry.attempts, facts.retry.backoff)),
        repr(
            None
            if facts.compensation_retry is None
            else (facts.compensation_retry.attempts, facts.compensation_retry.backoff)
        ),
        facts.kinds,
        step.fallback,
    ]


def _major(version: str) -> str:
    return version.partition(".")[0]


def _contract_name(type_: TypeExpr) -> object:
    return _type(type_) if type_.arguments else type_.name


def _held(model: plan.PlanModel, published: Published) -> set[str]:
    """The contracts that values of a plan can be of; of a generic one, as it is parametrised."""
    types = [model.input, model.output]
    types += [side for capability in model.capabilities for side in (capability.request, capability.result)]
    names = {published.name(type_) for type_ in types if type_.name in published.program.contracts}
    return names | {contract.name for contract in model.contracts if not published.is_generic(contract.name)}


def _contract_digest(published: Published, name: str, told: object) -> str:
    """A digest of what is written of a contract; made once, however many plans hold values of it."""

    def find() -> str:
        text = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    return published.program.once("contract digest", name, find)


def _type(type_: TypeExpr) -> object:
    return [type_.name, [_type(argument) for argument in type_.arguments], [ascii(value) for value in type_.literals]]
