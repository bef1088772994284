"""For every field of the manifest's schema: edits of it and what is told of them, or why it is never reported."""

from __future__ import annotations

from typing import Any

from tests.diff.cases import put
from tests.diff.sample import Document, Edit, add_field, capability, contract, flow, step, trigger

Told = tuple[str, ...]


def _event(document: Document) -> Document:
    found: Document = document["events"][0]
    return found


def _signal(document: Document) -> Document:
    found: Document = document["signals"][0]
    return found


def _ref(name: str) -> dict[str, Any]:
    return {"type": f"shop.{name}"}


def _held_by_signal(shape: Any, required: list[str]) -> Edit:
    """The signal's reference moves to another contract, as when its class changes."""

    def edit(document: Document) -> None:
        document["contracts"]["shop.Other"] = {"type": "object", "properties": shape, "required": required}
        _signal(document)["contract"] = _ref("Other")

    return edit


BY, REMARK = {"type": "string"}, {"type": "string"}
COMPARED: dict[str, tuple[tuple[Edit, Told], ...]] = {
    "schemaVersion": ((lambda d: put(d, schemaVersion="0.1.0"), ("200",)),),
    "application.name": ((lambda d: put(d["application"], name="bank"), ("201",)),),
    "flows": (
        (lambda d: d["flows"].pop(), ("001",)),
        (lambda d: d["flows"].append({**flow(d, 1), "id": "order.return"}), ("100",)),
    ),
    "capabilities": (
        (lambda d: d["capabilities"].pop(), ("010",)),
        (lambda d: d["capabilities"].append({**capability(d, "mail.send"), "id": "mail.queue"}), ("101",)),
    ),
    "events": (
        (lambda d: d["events"].clear(), ("020",)),
        (lambda d: d["events"].append({**_event(d), "type": "order.lost"}), ("102",)),
    ),
    "signals": (
        # Which flows wait is told by their steps; what is sent by the signal's contract.
        (lambda d: (d["signals"].clear(), put(step(d, 4), signal="order.seen")), ("021", "022")),
    ),
    "signal.id": (
        (lambda d: (put(_signal(d), id="order.seen"), put(step(d, 4), signal="order.seen")), ("021", "022")),
    ),
    "signal.contract": (
        (_held_by_signal({"by": BY}, ["by"]), ("031",)),
        (_held_by_signal({"by": BY, "remark": REMARK}, ["by", "remark"]), ("030",)),
        (_held_by_signal({"by": {"enum": ["a"]}, "remark": REMARK}, ["by"]), ("032",)),
        (_held_by_signal({"by": BY, "remark": REMARK, "at": BY}, ["by"]), ("110",)),
        (_held_by_signal({"by": BY, "remark": REMARK}, []), ("112",)),
        (_held_by_signal({"by": BY, "remark": REMARK}, ["by"]), ("210",)),
        (_held_by_signal({"by": BY, "remark": {"x-flowx-opaque": "why"}}, ["by"]), ("211",)),
    ),
    "errors": ((lambda d: put(d, errors=[{"code": "card.declined", "category": "Internal"}]), ("018",)),),
    "error.code": (
        (
            lambda d: (put(d["errors"][0], code="card.no"), put(capability(d, "card.charge"), errors=["card.no"])),
            ("017", "104"),
        ),
    ),
    "error.category": ((lambda d: put(d["errors"][0], category="Internal"), ("018",)),),
    "contracts": (
        (lambda d: add_field(d, "Mail", "x", BY, required=True), ("030",)),
        (lambda d: contract(d, "Mail")["properties"].pop("body"), ("031",)),
        (lambda d: put(contract(d, "Mail")["properties"], body={"enum": ["a"]}), ("032",)),
        (lambda d: contract(d, "Status")["properties"].pop("done"), ("033",)),
        (lambda d: put(contract(d, "Status")["properties"], done=BY), ("034",)),
        (lambda d: add_field(d, "Mail", "x", BY), ("110",)),
        (lambda d: add_field(d, "Status", "x", BY), ("111",)),
        (lambda d: put(contract(d, "Mail"), required=[]), ("112",)),
        (lambda d: put(contract(d, "Status")["properties"], done={"const": True}), ("034",)),
        (lambda d: put(contract(d, "OrderResult")["properties"], state={"const": "paid"}), ("114",)),
        (lambda d: put(d["contracts"], **{"shop.Mail": {"x-flowx-opaque": "why"}}), ("211",)),
        (lambda d: put(contract(d, "Mail")["properties"]["to"], sensitive=True), ("107",)),
    ),
    "typeRef.type": (
        (lambda d: put(flow(d, 1)["input"], type="shop.Mail"), ("002",)),
        (lambda d: put(flow(d)["output"], type="shop.Mail"), ("003",)),
        (lambda d: put(capability(d, "mail.send")["input"], type="shop.Status"), ("011",)),
        (lambda d: put(capability(d, "card.charge")["output"], type="shop.Status"), ("012",)),
    ),
    "typeRef.sensitive": (
        # The list alone counts too: a document need not mark the members in the shape.
        (lambda d: put(flow(d)["input"], sensitive=["national_id", "note"]), ("107",)),
        (lambda d: (put(flow(d)["input"], sensitive=["note"]), _unmark(d)), ("006", "107")),
    ),
    "flow.id": ((lambda d: put(flow(d, 1), id="order.send"), ("001", "100")),),
    "flow.version": (
        (lambda d: put(flow(d, 1), version="2.0.0"), ("001", "100")),
        (lambda d: put(flow(d, 1), version="1.1.0"), ("041",)),
        (lambda d: put(flow(d, 1), version="1.1.0", planDigest="another"), ("041", "212")),
    ),
    "flow.profile": (
        (lambda d: put(flow(d), profile="Ephemeral"), ("004",)),
        (lambda d: put(flow(d, 1), profile="Durable"), ("202",)),
    ),
    "flow.deadline": ((lambda d: put(flow(d), deadline="PT7H"), ("203",)),),
    "flow.input": ((lambda d: put(flow(d, 1), input=_ref("Mail")), ("002",)),),
    "flow.output": ((lambda d: put(flow(d), output=...), ("003",)),),
    "flow.planDigest": ((lambda d: put(flow(d), planDigest="another"), ("040",)),),
    "flow.retiredPlans": ((lambda d: put(flow(d), retiredPlans=...), ("041",)),),
    "retiredPlan.version": ((lambda d: put(flow(d)["retiredPlans"][0], version="1.0.5"), ("041",)),),
    "retiredPlan.planDigest": ((lambda d: put(flow(d)["retiredPlans"][0], planDigest="another"), ("040",)),),
    "flow.triggers": (
        (lambda d: flow(d)["triggers"].pop(0), ("005",)),
        (lambda d: flow(d)["triggers"].append({"kind": "Cli"}), ("103",)),
    ),
    "flow.steps": (
        (lambda d: flow(d)["steps"].pop(2), ("021",)),
        (lambda d: flow(d)["steps"].append({"id": 20, "kind": "AwaitSignal", "signal": "order.seen"}), ("022",)),
    ),
    "trigger.kind": ((lambda d: put(trigger(d, "Bus"), kind="Stream"), ("005", "103")),),
    "trigger.method": ((lambda d: put(trigger(d, "Http"), method="PUT"), ("005", "103")),),
    "trigger.route": ((lambda d: put(trigger(d, "Http"), route="/v2"), ("005", "103")),),
    "trigger.transport": (
        (
            lambda d: (put(trigger(d, "Bus"), transport="kafka"), flow(d)["triggers"].append(_bus("rabbit"))),
            ("103",),
        ),
    ),
    "trigger.topic": ((lambda d: put(trigger(d, "Bus"), topic="cart.paid"), ("005", "103")),),
    "trigger.cron": ((lambda d: put(trigger(d, "Schedule"), cron="1 1 * * *"), ("005", "103")),),
    "trigger.idempotent": (
        (lambda d: put(trigger(d, "Bus"), idempotent=True), ("007",)),
        (lambda d: put(trigger(d, "Http"), idempotent=False), ("008",)),
    ),
    "trigger.timeZone": ((lambda d: put(trigger(d, "Schedule"), timeZone="Asia/Tokyo"), ("205",)),),
    "trigger.confirmation": (
        (lambda d: put(trigger(d, "Agent"), confirmation="Never"), ("009",)),
        (lambda d: put(trigger(d, "Agent"), confirmation="Always"), ("108",)),
    ),
    "step.kind": (
        # Another kind of step is another step: what was undone is not there any more, which is free.
        (lambda d: (put(step(d, 1), merge="AllSettled", kind="ForEach"), put(step(d, 8), mode="Detached")), ("036",)),
    ),
    "step.name": (
        # A name tells apart two steps that call one capability.
        (
            lambda d: (
                put(step(d, 0), name="again"),
                flow(d)["steps"].append({"id": 21, "name": "charge", "capability": "card.charge@1.0.0"}),
            ),
            ("035",),
        ),
    ),
    "step.capability": ((lambda d: put(step(d, 0), capability="card.charge@1.0.1", compensation=...), ("035",)),),
    "step.compensation": (
        (lambda d: put(step(d, 0), compensation=...), ("035",)),
        (lambda d: put(step(d, 2), compensation="mail.send@1.0.0"), ("113",)),
    ),
    "step.flow": (
        # The flow tells which of two is which: the old one is let go, and a new one is waited for.
        (
            lambda d: (
                put(step(d, 8), flow="order.pack"),
                flow(d)["steps"].append({"id": 22, "kind": "SubFlow", "flow": "order.ship", "mode": "Detached"}),
            ),
            ("036",),
        ),
    ),
    "step.mode": ((lambda d: put(step(d, 8), mode="Detached"), ("036",)),),
    "step.merge": ((lambda d: put(step(d, 1), merge="AllSettled"), ("036",)),),
    "step.signal": (
        (lambda d: put(step(d, 4), signal=...), ("021",)),
        (lambda d: put(step(d, 6), signal="order.seen"), ("022",)),
    ),
    "step.timeout": ((lambda d: put(step(d, 4), timeout="P8D"), ("206",)),),
    "step.branches": (
        (lambda d: put(step(d, 6), branches=[[{"id": 7, "kind": "AwaitSignal", "signal": "order.seen"}]]), ("022",)),
    ),
    "capability.id": ((lambda d: put(capability(d, "mail.send"), id="mail.post"), ("010", "101")),),
    "capability.version": ((lambda d: put(capability(d, "mail.send"), version="2.0.0"), ("010", "101")),),
    "capability.input": ((lambda d: put(capability(d, "mail.send"), input=_ref("Status")), ("011",)),),
    "capability.output": ((lambda d: put(capability(d, "mail.send"), output=_ref("Status")), ("012",)),),
    "capability.authorization": (
        (lambda d: put(capability(d, "card.refund"), authorization={"mode": "Public"}), ("014",)),
    ),
    "authorization.mode": (
        (lambda d: put(capability(d, "mail.send")["authorization"], mode="Internal"), ("015",)),
        (lambda d: put(capability(d, "card.refund")["authorization"], mode="Public"), ("014",)),
    ),
    "authorization.value": ((lambda d: put(capability(d, "card.charge")["authorization"], value="x"), ("015",)),),
    "capability.idempotent": (
        (lambda d: put(capability(d, "mail.send"), idempotent=False), ("013",)),
        (lambda d: put(capability(d, "card.charge"), idempotent=True), ("105",)),
    ),
    "capability.sideEffects": (
        (lambda d: put(capability(d, "mail.send"), sideEffects=["mail"]), ("016",)),
        (lambda d: put(capability(d, "card.charge"), sideEffects=[]), ("106",)),
    ),
    "capability.errors": (
        (lambda d: put(capability(d, "card.charge"), errors=[]), ("017",)),
        (lambda d: put(capability(d, "card.charge"), errors=...), ("019",)),
        (lambda d: put(capability(d, "card.refund"), errors=["card.declined"]), ("104",)),
    ),
    "capability.deprecated": ((lambda d: put(capability(d, "stock.reserve"), deprecated="soon"), ("204",)),),
    "event.type": ((lambda d: put(_event(d), type="order.made"), ("020", "102")),),
    "event.schemaVersion": ((lambda d: put(_event(d), schemaVersion="2.0.0"), ("020", "102")),),
    "event.contract": ((lambda d: put(_event(d), contract=_ref("Signed")), ("033", "111")),),
}
"""The fields that are looked at."""


def _unmark(document: Document) -> None:
    del contract(document, "PlaceOrder")["properties"]["national_id"]["sensitive"]


def _bus(transport: str) -> Document:
    return {"kind": "Bus", "topic": "cart.closed", "transport": transport}


NEVER_REPORTED: dict[str, tuple[str, Edit]] = {
    "application": (
        "only its name says anything",
        lambda d: put(d, application={"name": "shop", "version": "7.0.0"}),
    ),
    "application.version": ("it changes by design", lambda d: put(d["application"], version="7.0.0")),
    "extensions": ("nobody here knows what its keys mean", lambda d: put(d, extensions={"flows": []})),
    "flow.owner": ("who answers for a flow is no contract with its callers", lambda d: put(flow(d), owner="others")),
    "flow.source": ("it moves with every edit of the file", lambda d: put(flow(d), source="x.py:Y")),
    "capability.source": (
        "it moves with every edit of the file",
        lambda d: put(capability(d, "card.charge"), source="x.py:Y"),
    ),
    "flow.emits": ("derived; the events themselves are compared", lambda d: put(flow(d), emits=["order.lost"])),
    "flow.errors": ("derived; the capabilities' catalogues are compared", lambda d: put(flow(d), errors=["x"])),
    "trigger.group": ("how this application consumes", lambda d: put(trigger(d, "Bus"), group="others")),
    "trigger.description": (
        "prose that is meant to be edited",
        lambda d: put(trigger(d, "Agent"), description="Order."),
    ),
    "authorization.approvedBy": (
        "about the review, not about who may call",
        lambda d: put(capability(d, "mail.send")["authorization"], approvedBy="Grace"),
    ),
    "event.producedBy": ("derived", lambda d: put(_event(d), producedBy=["order.ship"])),
    "event.consumedBy": (
        "derived, and only what is inside this application",
        lambda d: put(_event(d), consumedBy=["order.ship"]),
    ),
    "capability.onceLabels": (
        "who calls it sees none of them; a build says when one is gone under the same flow version (FLOWX1111)",
        lambda d: put(capability(d, "card.charge"), onceLabels=["charge"]),
    ),
    "capability.usedBy": ("derived", lambda d: put(capability(d, "card.charge"), usedBy=["order.ship"])),
    "step.id": ("the place in the plan, which the digest covers", lambda d: put(step(d, 9), id=99)),
    "step.event": (
        "what a flow emits is free; the events are compared",
        lambda d: put(step(d, 9), event="order.lost"),
    ),
    "step.policies": ("what a flow does inside is free to change", lambda d: put(step(d, 0), policies=...)),
    "policy.kind": (
        "what a flow does inside is free to change",
        lambda d: put(step(d, 0)["policies"][0], kind="Retry"),
    ),
    "policy.stage": ("follows from the kind", lambda d: put(step(d, 0)["policies"][0], stage="Admission")),
}
"""The fields that are not, and why."""
