"""The manifest: the contract of an application, for people, tools and gates that never see its source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, assert_never

from flowx_compiler import model
from flowx_compiler.check.error_catalogue import error_catalogue
from flowx_compiler.lower import plan_model as plan
from flowx_compiler.model import Contract, Flow, Program, TypeExpr
from flowx_runtime.plan import format_duration

SCHEMA_VERSION = "1.0.0"
_SCALARS: Mapping[str, dict[str, Any]] = {
    "builtins.str": {"type": "string"},
    "builtins.int": {"type": "integer"},
    "builtins.float": {"type": "number"},
    "builtins.bool": {"type": "boolean"},
    "datetime.datetime": {"format": "date-time", "type": "string"},
    "datetime.date": {"format": "date", "type": "string"},
    "datetime.timedelta": {"format": "duration", "type": "string"},
    "uuid.UUID": {"format": "uuid", "type": "string"},
    "None": {"type": "null"},
}


def emit_manifest(application: str, program: Program, plans: Sequence[plan.PlanModel]) -> str:
    """The manifest's text: sorted keys, two spaces, one final newline."""
    document = manifest(application, program, plans)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def manifest(application: str, program: Program, plans: Sequence[plan.PlanModel]) -> dict[str, Any]:
    """The manifest as a document. Shape, never values: no predicates, case values, intervals or messages."""
    used: dict[str, set[str]] = {}
    for compiled in plans:
        for capability in compiled.capabilities:
            used.setdefault(capability.name, set()).add(compiled.flow_id)
    capabilities = sorted(program.capabilities.values(), key=lambda item: (item.id, item.version))
    return {
        "schemaVersion": SCHEMA_VERSION,
        "application": application,
        "flows": [_flow(program, program.flows[compiled.flow], compiled) for compiled in _sorted(plans)],
        "capabilities": [_capability(program, item, sorted(used.get(item.name, ()))) for item in capabilities],
        "events": [
            {"id": event.id, "version": event.version, "contract": event.contract}
            for event in sorted(program.events.values(), key=lambda item: (item.id, item.version))
        ],
        "signals": [
            {"id": signal.id, "contract": signal.contract}
            for signal in sorted(program.signals.values(), key=lambda item: item.id)
        ],
        "errors": [
            {"code": error.code, "category": error.category}
            for error in sorted(program.errors.values(), key=lambda item: item.code)
            if error.code
        ],
        "contracts": {name: _contract(program, program.contracts[name]) for name in sorted(_published(program, plans))},
    }


def _sorted(plans: Sequence[plan.PlanModel]) -> list[plan.PlanModel]:
    return sorted(plans, key=lambda item: (item.flow_id, item.version))


def _flow(program: Program, flow: Flow, compiled: plan.PlanModel) -> dict[str, Any]:
    return _without_nothing(
        {
            "id": flow.id,
            "version": flow.version,
            "profile": "durable" if flow.is_durable else "ephemeral",
            "owner": flow.owner,
            "deadline": None if flow.deadline is None else format_duration(flow.deadline),
            "input": {"$ref": flow.input.name},
            "output": None if flow.output.name == "None" else {"$ref": flow.output.name},
            "planDigest": compiled.digest,
            "source": f"{program.modules[flow.module].file}:{flow.syntax.name}",
            "triggers": [_trigger(trigger) for trigger in flow.triggers],
            "steps": [step for node in compiled.nodes if (step := _step(node)) is not None],
        }
    )


def _trigger(trigger: model.HttpTrigger | model.CronTrigger) -> dict[str, Any]:
    if isinstance(trigger, model.HttpTrigger):
        return {
            "kind": "http",
            "method": trigger.method.upper(),
            "route": trigger.route,
            "idempotent": trigger.idempotent,
        }
    return _without_nothing(
        {
            "kind": "cron",
            "expression": trigger.expression,
            "timeZone": trigger.time_zone,
            "missedFire": trigger.missed_fire,
            "jitter": trigger.jitter,
        }
    )


def _step(node: plan.Node) -> dict[str, Any] | None:
    """What the manifest says of a node; jumps are layout and say nothing."""
    step: dict[str, Any] = {"index": node.index}
    match node:
        case plan.Step():
            undo = None if node.compensation is None else f"{node.compensation.id}@{node.compensation.version}"
            policies = None if node.policy_facts is None else list(node.policy_facts.kinds)
            step |= {"kind": "step", "name": node.name, "capability": f"{node.capability.id}@{node.capability.version}"}
            step |= {"compensation": undo, "policies": policies}
        case plan.Branch():
            step |= {"kind": "when"}
        case plan.Switch():
            step |= {"kind": "switch"}
        case plan.Parallel():
            merge = node.merge.rule if node.merge.needed is None else f"{node.merge.rule}({node.merge.needed})"
            step |= {"kind": "parallel", "merge": merge, "branches": len(node.branches)}
        case plan.ForEach():
            step |= {"kind": "for_each", "item": {"$ref": node.item.name}}
        case plan.SubFlow():
            mode = "detached" if node.is_detached else "inline"
            step |= {"kind": "sub_flow", "name": node.name, "flow": f"{node.flow_id}@{node.version}", "mode": mode}
        case plan.AwaitSignal():
            step |= {"kind": "await_signal", "name": node.name, "signal": node.signal.id}
            step |= {"timeout": _duration(node.folded_timeout)}
        case plan.Delay():
            step |= {"kind": "delay", "name": node.name, "timeout": _duration(node.folded_duration)}
        case plan.Poll():
            signal = None if node.signal is None else node.signal.id
            step |= {"kind": "poll", "signal": signal, "timeout": _duration(node.folded_timeout)}
        case plan.Emit():
            step |= {"kind": "emit", "name": node.name, "event": f"{node.event.id}@{node.event.version}"}
        case plan.Fail():
            step |= {"kind": "fail", "error": node.code}
        case plan.Jump():
            return None
        case _:
            assert_never(node)
    return _without_nothing(step)


def _duration(value: timedelta | None) -> str | None:
    return None if value is None else format_duration(value)


def _capability(program: Program, capability: model.Capability, used_by: list[str]) -> dict[str, Any]:
    stance = capability.stance
    names = error_catalogue(program, capability)
    errors = None if names is None else sorted(program.errors[name].code for name in names if name in program.errors)
    return _without_nothing(
        {
            "id": capability.id,
            "version": capability.version,
            "input": {"$ref": capability.request.name},
            "output": None if capability.result.name == "None" else {"$ref": capability.result.name},
            "authorization": None
            if stance is None
            else _without_nothing(
                {"kind": stance.kind, "name": stance.argument if stance.kind == "permission" else None}
            ),
            "idempotent": capability.idempotent,
            "sideEffects": sorted(capability.side_effects),
            "errors": errors,
            "deprecated": capability.deprecated,
            "source": f"{program.modules[capability.module].file}:{capability.name[len(capability.module) + 1 :]}",
            "usedBy": used_by,
        }
    )


def _published(program: Program, plans: Sequence[plan.PlanModel]) -> set[str]:
    names = {contract.name for compiled in plans for contract in compiled.contracts}
    for capability in program.capabilities.values():
        names |= {capability.request.name, capability.result.name}
    names |= {event.contract for event in program.events.values()}
    names |= {signal.contract for signal in program.signals.values()}
    return {name for name in names if name in program.contracts}


def _contract(program: Program, contract: Contract) -> dict[str, Any]:
    if not contract.is_complete:
        return {"x-flowx-opaque": "a base class is not part of the project"}
    properties: dict[str, Any] = {}
    for field in contract.fields:
        shape = _shape(program, field.type)
        if shape is None:
            return {"x-flowx-opaque": f"the type of {field.name} is not derived"}
        properties[field.name] = {**shape, "sensitive": True} if field.is_sensitive else shape
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(field.name for field in contract.fields if not field.has_default),
    }


def _shape(program: Program, type_: TypeExpr) -> dict[str, Any] | None:
    if type_.name in ("typing.Annotated", "flowx_runtime.Sensitive") and type_.arguments:
        return _shape(program, type_.arguments[0])
    if type_.name in _SCALARS:
        return dict(_SCALARS[type_.name])
    if type_.name in program.contracts:
        return {"$ref": type_.name}
    if type_.name in program.enumerations:
        return {"enum": sorted(program.enumerations[type_.name].members)}
    inner = [_shape(program, argument) for argument in type_.arguments if argument.name != "..."]
    if any(shape is None for shape in inner):
        return None
    match type_.name, inner:
        case ("|", shapes):
            return {"anyOf": shapes}
        case ("builtins.list" | "collections.abc.Sequence" | "builtins.set" | "builtins.frozenset", [item]):
            return {"type": "array", "items": item}
        case ("builtins.tuple", [item]) if len(type_.arguments) == 2:
            return {"type": "array", "items": item}
        case ("builtins.dict", [_, value]):
            return {"type": "object", "additionalProperties": value}
        case ("typing.Literal", []):
            return {"enum": list(type_.literals)}
        case _:
            return None


def _without_nothing(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}
