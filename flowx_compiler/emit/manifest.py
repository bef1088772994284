"""The manifest: the contract of an application, for people, tools and gates that never see its source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowx_compiler import model
from flowx_compiler.check.error_catalogue import error_catalogue
from flowx_compiler.check.once_steps import labels_of
from flowx_compiler.contracts.published import Published
from flowx_compiler.emit.manifest_steps import manifest_steps, published_name
from flowx_compiler.lower import plan_model as plan
from flowx_compiler.model import Flow, Program, TypeExpr
from flowx_runtime.plan import format_duration

SCHEMA_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class RetiredPlan:
    """A plan of an older version that is still on disk, for the instances that need it."""

    flow_id: str
    version: str
    digest: str


def emit_manifest(
    application: str,
    program: Program,
    plans: Sequence[plan.PlanModel],
    retired: Sequence[RetiredPlan] = (),
) -> str:
    """The manifest's text: sorted keys, two spaces, one final newline."""
    document = manifest(application, program, plans, retired)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def manifest(
    application: str,
    program: Program,
    plans: Sequence[plan.PlanModel],
    retired: Sequence[RetiredPlan] = (),
) -> dict[str, Any]:
    """The manifest as a document. Shape, never values: no predicates, case values, intervals or messages."""
    used: dict[str, set[str]] = {}
    emitters: dict[str, set[str]] = {}
    kept: dict[str, list[RetiredPlan]] = {}
    for item in sorted(retired, key=lambda item: (item.flow_id, item.version)):
        kept.setdefault(item.flow_id, []).append(item)
    for compiled in plans:
        for capability in compiled.capabilities:
            used.setdefault(capability.name, set()).add(compiled.flow_id)
        for node in (*compiled.nodes, *compiled.on_failure):
            if isinstance(node, plan.Emit | plan.FailureEmit):
                emitters.setdefault(node.event.id, set()).add(compiled.flow_id)
    capabilities = sorted(program.capabilities.values(), key=lambda item: (item.id, item.version))
    return {
        "schemaVersion": SCHEMA_VERSION,
        "application": {"name": application},
        "flows": [
            _flow(program, program.flows[compiled.flow], compiled, kept.get(compiled.flow_id, []))
            for compiled in _sorted(plans)
        ],
        "capabilities": [_capability(program, item, sorted(used.get(item.name, ()))) for item in capabilities],
        "events": [
            _without_nothing(
                {
                    "type": event.id,
                    "schemaVersion": event.version,
                    "contract": _type_ref(program, TypeExpr(event.contract)),
                    "producedBy": sorted(emitters.get(event.id, ())) or None,
                }
            )
            for event in sorted(program.events.values(), key=lambda item: (item.id, item.version))
        ],
        "signals": [
            {"id": signal.id, "contract": _type_ref(program, TypeExpr(signal.contract))}
            for signal in sorted(program.signals.values(), key=lambda item: item.id)
        ],
        "errors": [
            {"code": error.code, "category": published_name(error.category)}
            for error in sorted(program.errors.values(), key=lambda item: item.code)
            if error.code
        ],
        "contracts": Published.of(program).closure(_published(program, plans)),
    }


def _sorted(plans: Sequence[plan.PlanModel]) -> list[plan.PlanModel]:
    return sorted(plans, key=lambda item: (item.flow_id, item.version))


def _flow(program: Program, flow: Flow, compiled: plan.PlanModel, retired: Sequence[RetiredPlan]) -> dict[str, Any]:
    emitted = {node.event.id for node in compiled.nodes if isinstance(node, plan.Emit)}
    emitted |= {emit.event.id for emit in compiled.on_failure}
    return _without_nothing(
        {
            "id": flow.id,
            "version": flow.version,
            "profile": "Durable" if flow.is_durable else "Ephemeral",
            "owner": flow.owner,
            "deadline": None if flow.deadline is None else format_duration(flow.deadline),
            "input": _type_ref(program, flow.input),
            "output": _type_ref(program, flow.output),
            "planDigest": compiled.digest,
            "retiredPlans": [{"version": item.version, "planDigest": item.digest} for item in retired] or None,
            "source": f"{program.modules[flow.module].file}:{flow.syntax.name}",
            "triggers": [_trigger(trigger) for trigger in flow.triggers] or None,
            "steps": manifest_steps(flow.body, compiled.nodes),
            "emits": sorted(emitted),
            "errors": _flow_errors(program, compiled),
        }
    )


def _flow_errors(program: Program, compiled: plan.PlanModel) -> list[str] | None:
    """Every code a capability of the flow may answer with; withheld when one of them withholds its own."""
    catalogues = [_errors(program, capability) for capability in compiled.capabilities]
    if not catalogues or any(catalogue is None for catalogue in catalogues):
        return None
    return sorted({code for catalogue in catalogues for code in catalogue or ()})


def _trigger(trigger: model.HttpTrigger | model.CronTrigger) -> dict[str, Any]:
    """The address of a trigger; how a schedule treats missed firings is tuning, and nobody outside can act on it."""
    if isinstance(trigger, model.HttpTrigger):
        method, route = trigger.method.upper(), trigger.route
        return {"kind": "Http", "method": method, "route": route, "idempotent": trigger.idempotent}
    return {"kind": "Schedule", "cron": trigger.expression, "timeZone": trigger.time_zone}


def _type_ref(program: Program, type_: TypeExpr) -> dict[str, Any] | None:
    """A contract in use; the members it marks sensitive are named where there are any."""
    if type_.name == "None":
        return None
    published = Published.of(program)
    name = published.name(type_)
    marked = published.marked(name)
    return {"type": name, "sensitive": marked} if marked else {"type": name}


def _errors(program: Program, capability: model.Capability) -> list[str] | None:
    names = error_catalogue(program, capability)
    return None if names is None else sorted({program.errors[name].code for name in names if name in program.errors})


def _authorization(stance: model.Stance) -> dict[str, Any]:
    named = {"public": "approvedBy", "permission": "value"}.get(stance.kind)
    return {
        "mode": published_name(stance.kind),
        **({named: stance.argument} if named is not None and stance.argument is not None else {}),
    }


def _capability(program: Program, capability: model.Capability, used_by: list[str]) -> dict[str, Any]:
    return _without_nothing(
        {
            "id": capability.id,
            "version": capability.version,
            "input": _type_ref(program, capability.request),
            "output": _type_ref(program, capability.result),
            "authorization": None if capability.stance is None else _authorization(capability.stance),
            "idempotent": capability.idempotent,
            "sideEffects": sorted(capability.side_effects),
            "errors": _errors(program, capability),
            "onceLabels": list(labels_of(program, capability)) or None,
            "deprecated": capability.deprecated,
            "source": f"{program.modules[capability.module].file}:{capability.name[len(capability.module) + 1 :]}",
            "usedBy": used_by,
        }
    )


def _published(program: Program, plans: Sequence[plan.PlanModel]) -> set[str]:
    published = Published.of(program)
    names = {contract.name for compiled in plans for contract in compiled.contracts}
    types = [TypeExpr(name) for name in names if not published.is_generic(name)]
    for capability in program.capabilities.values():
        types += [capability.request, capability.result]
    for flow in (program.flows[compiled.flow] for compiled in plans):
        types += [flow.input, flow.output]
    types += [TypeExpr(event.contract) for event in program.events.values()]
    types += [TypeExpr(signal.contract) for signal in program.signals.values()]
    return {published.name(type_) for type_ in types if type_.name in program.contracts}


def _without_nothing(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}
