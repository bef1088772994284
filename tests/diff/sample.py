"""A manifest with a bit of everything, and ways to edit it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flowx_compiler.diff.compare import Report, compare
from flowx_compiler.diff.reading import read_manifest
from flowx_compiler.diff.rule import Finding

Document = dict[str, Any]
Edit = Callable[[Document], object]


def sample() -> Document:
    """A fresh copy, in which no two places share an object."""
    copy: Document = json.loads(json.dumps(_SAMPLE))
    return copy


def edited(edit: Edit) -> Document:
    """The sample after an edit, which must have changed something."""
    document = sample()
    edit(document)
    assert document != _SAMPLE, "the edit changes nothing, so whatever it proves is worth nothing"
    return document


def report(old: Document, new: Document) -> Report:
    """Compare as the command does: through text."""
    return compare(read_manifest(json.dumps(old), "old"), read_manifest(json.dumps(new), "new"))


def findings(old: Document, new: Document) -> list[Finding]:
    return list(report(old, new).findings)


def told(old: Document, new: Document) -> list[tuple[str, str]]:
    """Number and subject of every finding."""
    return [(finding.code.removeprefix("FLOWX-DIFF-"), finding.subject) for finding in findings(old, new)]


def flow(document: Document, position: int = 0) -> Document:
    found: Document = document["flows"][position]
    return found


def trigger(document: Document, kind: str) -> Document:
    return next(item for item in flow(document)["triggers"] if item["kind"] == kind)


def capability(document: Document, id: str) -> Document:
    return next(item for item in document["capabilities"] if item["id"] == id)


def step(document: Document, id: int) -> Document:
    def search(steps: list[Document]) -> Document | None:
        for item in steps:
            if item["id"] == id:
                return item
            for branch in item.get("branches", ()):
                found = search(branch)
                if found is not None:
                    return found
        return None

    found = search(flow(document)["steps"])
    assert found is not None
    return found


def contract(document: Document, name: str) -> Document:
    found: Document = document["contracts"][f"shop.{name}"]
    return found


def add_field(document: Document, name: str, field: str, shape: Document, *, required: bool = False) -> None:
    contract(document, name)["properties"][field] = shape
    if required:
        contract(document, name)["required"].append(field)


def remove_field(document: Document, name: str, field: str) -> None:
    del contract(document, name)["properties"][field]
    contract(document, name)["required"] = [item for item in contract(document, name)["required"] if item != field]


def rename_contract(document: Document, old: str, new: str) -> None:
    """Everywhere, as renaming the class does."""
    text = json.dumps(document)
    assert f'"shop.{old}"' in text
    renamed = text.replace(f'"shop.{old}"', f'"shop.{new}"').replace(
        f'"#/contracts/shop.{old}"', f'"#/contracts/shop.{new}"'
    )
    document.clear()
    document.update(json.loads(renamed))


def bump(document: Document, version: str, *, keep_old: bool = True) -> None:
    """The flow moves on, as `build` writes it."""
    moved = flow(document)
    if keep_old:
        moved["retiredPlans"].append({"version": moved["version"], "planDigest": moved["planDigest"]})
    moved["version"] = version
    moved["planDigest"] = f"digest of {version}"


def _object(required: list[str], **properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": required}


_TEXT = {"type": "string"}
_SAMPLE: Document = {
    "schemaVersion": "1.0.0",
    "application": {"name": "shop", "version": "1.0.0"},
    "flows": [
        {
            "id": "order.place",
            "version": "1.1.0",
            "profile": "Durable",
            "owner": "orders",
            "deadline": "PT6H",
            "input": {"type": "shop.PlaceOrder", "sensitive": ["national_id"]},
            "output": {"type": "shop.OrderResult"},
            "planDigest": "digest of 1.1.0",
            "retiredPlans": [{"version": "1.0.0", "planDigest": "digest of 1.0.0"}],
            "triggers": [
                {"kind": "Http", "method": "POST", "route": "/orders", "idempotent": True},
                {"kind": "Bus", "topic": "cart.closed", "group": "shop"},
                {"kind": "Schedule", "cron": "0 2 * * *", "timeZone": "Europe/Paris"},
                {"kind": "Agent", "description": "Order things.", "confirmation": "RequiredForSideEffects"},
            ],
            "steps": [
                {
                    "id": 0,
                    "kind": "Capability",
                    "name": "charge",
                    "capability": "card.charge@1.0.0",
                    "compensation": "card.refund@1.0.0",
                    "policies": [{"kind": "Timeout", "stage": "Resilience"}],
                },
                {
                    "id": 1,
                    "kind": "Parallel",
                    "merge": "Quorum",
                    "branches": [
                        [{"id": 2, "kind": "Capability", "capability": "stock.reserve@1.0.0"}],
                        [{"id": 3, "kind": "Capability", "capability": "mail.send@1.0.0"}],
                    ],
                },
                {
                    "id": 4,
                    "kind": "AwaitSignal",
                    "signal": "order.signed",
                    "timeout": "P7D",
                    "branches": [[{"id": 5, "kind": "Fail"}]],
                },
                {
                    "id": 6,
                    "kind": "Poll",
                    "timeout": "PT4H",
                    "branches": [[{"id": 7, "kind": "Capability", "capability": "stock.status@1.0.0"}]],
                },
                {"id": 8, "kind": "SubFlow", "flow": "order.ship", "mode": "Inline"},
                {"id": 9, "kind": "Emit", "event": "order.placed"},
            ],
            "emits": ["order.placed"],
            "source": "shop/flows.py:PlaceAnOrder",
        },
        {
            "id": "order.ship",
            "version": "1.0.0",
            "profile": "Ephemeral",
            "input": {"type": "shop.Receipt"},
            "planDigest": "digest of shipping",
            "steps": [{"id": 0, "kind": "Capability", "capability": "stock.reserve@1.0.0"}],
        },
    ],
    "capabilities": [
        {
            "id": "card.charge",
            "version": "1.0.0",
            "input": {"type": "shop.Charge"},
            "output": {"type": "shop.Receipt"},
            "authorization": {"mode": "Permission", "value": "orders.write"},
            "idempotent": False,
            "sideEffects": ["card-provider"],
            "errors": ["card.declined"],
            "usedBy": ["order.place"],
            "source": "shop/capabilities.py:ChargeCard",
        },
        {
            "id": "card.refund",
            "version": "1.0.0",
            "input": {"type": "shop.Receipt"},
            "authorization": {"mode": "Internal"},
            "idempotent": True,
            "sideEffects": ["card-provider"],
            "errors": [],
        },
        {
            "id": "mail.send",
            "version": "1.0.0",
            "input": {"type": "shop.Mail"},
            "authorization": {"mode": "Public", "approvedBy": "Ada"},
            "idempotent": True,
        },
        {
            "id": "stock.reserve",
            "version": "1.0.0",
            "input": {"type": "shop.Reservation"},
            "output": {"type": "shop.Reservation"},
            "authorization": {"mode": "Authenticated"},
            "idempotent": True,
            "deprecated": "use stock.hold",
        },
        {
            "id": "stock.status",
            "version": "1.0.0",
            "input": {"type": "shop.Receipt"},
            "output": {"type": "shop.Status"},
            "authorization": {"mode": "Policy", "value": "stock-readers"},
            "idempotent": True,
        },
    ],
    "events": [
        {"type": "order.placed", "schemaVersion": "1.0.0", "contract": {"type": "shop.OrderPlaced"}},
    ],
    "signals": [{"id": "order.signed", "contract": {"type": "shop.Signed"}}],
    "errors": [{"code": "card.declined", "category": "Conflict"}],
    "contracts": {
        "shop.Address": _object(["street", "country"], street=_TEXT, country={"enum": ["de", "fr"]}, zip=_TEXT),
        "shop.PlaceOrder": _object(
            ["order_id", "national_id", "ship_to", "lines"],
            order_id=_TEXT,
            national_id={**_TEXT, "sensitive": True},
            ship_to={"$ref": "#/contracts/shop.Address"},
            lines={"type": "array", "items": {"$ref": "#/contracts/shop.Line"}},
            note={"anyOf": [_TEXT, {"type": "null"}]},
        ),
        "shop.Line": _object(["sku", "count"], sku=_TEXT, count={"type": "integer", "minimum": 1}),
        "shop.OrderResult": _object(
            ["order_id", "state"], order_id=_TEXT, state={"enum": ["paid", "refused"]}, hint=_TEXT
        ),
        "shop.Charge": _object(["amount"], amount={"type": "string", "format": "decimal"}, currency=_TEXT),
        "shop.Receipt": _object(["number"], number=_TEXT),
        "shop.Mail": _object(["to", "body"], to=_TEXT, body={**_TEXT, "maxLength": 500}),
        "shop.Reservation": _object(["sku", "until"], sku=_TEXT, until={**_TEXT, "format": "date-time"}, memo=_TEXT),
        "shop.Status": _object(["done"], done={"type": "boolean"}),
        "shop.OrderPlaced": _object(["order_id"], order_id=_TEXT, address={"$ref": "#/contracts/shop.Address"}),
        "shop.Signed": _object(["by"], by=_TEXT, remark=_TEXT),
    },
}
