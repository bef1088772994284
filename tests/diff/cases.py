"""For every code: edits that must fire it, told exactly, and neighbouring edits that must not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.diff.sample import (
    Document,
    Edit,
    add_field,
    bump,
    capability,
    contract,
    flow,
    remove_field,
    rename_contract,
    step,
    trigger,
)


@dataclass(frozen=True)
class Fires:
    code: str
    name: str
    edit: Edit
    told: tuple[tuple[str, str], ...]
    """Number and subject of everything that is reported, in order."""


@dataclass(frozen=True)
class Silent:
    code: str
    name: str
    edit: Edit
    told: tuple[tuple[str, str], ...] = ()


def put(target: Document, **fields: Any) -> None:
    """Set fields; `...` takes a field away. An underscore at the end is not part of the name."""
    for name, value in fields.items():
        key = name.rstrip("_")
        if value is ...:
            del target[key]
        else:
            target[key] = value


HTTP = "flow order.place@1 trigger Http POST /orders"
BUS = "flow order.place@1 trigger Bus cart.closed"
CRON = "flow order.place@1 trigger Schedule 0 2 * * *"
AGENT = "flow order.place@1 trigger Agent"
PLACE = "flow order.place@1"
CHARGE = "capability card.charge@1"


def _drop_flow(document: Document) -> None:
    del document["flows"][1]


def _second_major(document: Document) -> None:
    document["flows"].append({**flow(document, 1), "version": "2.0.0"})


def _replace_major(document: Document) -> None:
    flow(document, 1)["version"] = "2.0.0"


def _new_input(document: Document) -> None:
    document["contracts"]["shop.Parcel"] = {
        "type": "object",
        "properties": {"weight": {"type": "number"}},
        "required": [],
    }
    flow(document, 1)["input"] = {"type": "shop.Parcel"}


def _opaque(document: Document, name: str) -> None:
    document["contracts"][f"shop.{name}"] = {"x-flowx-opaque": "a base class is not part of the project"}


def _drop_mail(document: Document) -> None:
    document["capabilities"] = [item for item in document["capabilities"] if item["id"] != "mail.send"]


def _rename_error(document: Document) -> None:
    document["errors"] = [{"code": "card.refused", "category": "Conflict"}]
    capability(document, "card.charge")["errors"] = ["card.refused"]


def _drop_trigger(document: Document, kind: str) -> None:
    flow(document)["triggers"].remove(trigger(document, kind))


def _unmark(document: Document) -> None:
    del flow(document)["input"]["sensitive"]
    del contract(document, "PlaceOrder")["properties"]["national_id"]["sensitive"]


def _mark_zip(document: Document) -> None:
    contract(document, "Address")["properties"]["zip"]["sensitive"] = True


def _move_wait(document: Document) -> None:
    steps = flow(document)["steps"]
    wait = steps.pop(2)
    steps.append({"id": 20, "kind": "Condition", "branches": [[wait]]})


def _swap_steps(document: Document) -> None:
    bump(document, "1.2.0")
    flow(document)["steps"].append({"id": 30, "kind": "Delay"})


def _inline_rename(document: Document) -> None:
    rename_contract(document, "Line", "OrderLine")


FIRES = (
    Fires("001", "a flow is removed, with all it held", _drop_flow, (("001", "flow order.ship@1"),)),
    Fires(
        "001",
        "a major is replaced",
        _replace_major,
        (("001", "flow order.ship@1"), ("100", "flow order.ship@2")),
    ),
    Fires("002", "another contract goes in", _new_input, (("002", "flow order.ship@1 input"),)),
    Fires(
        "002",
        "another name over a shape nobody knows",
        lambda d: (
            put(flow(d, 1), input={"type": "shop.Secret"}),
            put(d["contracts"], **{"shop.Secret": {"x-flowx-opaque": "why"}}),
        ),
        (("002", "flow order.ship@1 input"),),
    ),
    Fires(
        "003",
        "another contract comes out",
        lambda d: put(flow(d), output={"type": "shop.Status"}),
        (("003", f"{PLACE} output"),),
    ),
    Fires("003", "nothing comes out any more", lambda d: put(flow(d), output=...), (("003", f"{PLACE} output"),)),
    Fires("004", "durability is withdrawn", lambda d: put(flow(d), profile="Ephemeral"), (("004", PLACE),)),
    Fires("005", "a route is removed", lambda d: _drop_trigger(d, "Http"), (("005", HTTP),)),
    Fires(
        "005",
        "a schedule is another address",
        lambda d: put(trigger(d, "Schedule"), cron="0 3 * * *"),
        (("005", CRON), ("103", "flow order.place@1 trigger Schedule 0 3 * * *")),
    ),
    Fires("006", "a mark is taken away", _unmark, (("006", f"{PLACE} input"),)),
    Fires("007", "a key is demanded", lambda d: put(trigger(d, "Bus"), idempotent=True), (("007", BUS),)),
    Fires("008", "a key is no longer read", lambda d: put(trigger(d, "Http"), idempotent=False), (("008", HTTP),)),
    Fires("008", "the field is dropped", lambda d: put(trigger(d, "Http"), idempotent=...), (("008", HTTP),)),
    Fires("009", "a person is asked less", lambda d: put(trigger(d, "Agent"), confirmation="Never"), (("009", AGENT),)),
    Fires(
        "009", "the confirmation is dropped", lambda d: put(trigger(d, "Agent"), confirmation=...), (("009", AGENT),)
    ),
    Fires(
        "009",
        "the confirmation is a word nobody knows",
        lambda d: put(trigger(d, "Agent"), confirmation="Perhaps"),
        (("009", AGENT),),
    ),
    Fires("010", "a capability is removed", _drop_mail, (("010", "capability mail.send@1"),)),
    Fires(
        "011",
        "a capability takes another contract",
        lambda d: put(capability(d, "mail.send"), input={"type": "shop.Status"}),
        (("011", "capability mail.send@1 input"),),
    ),
    Fires(
        "012",
        "a capability gives another contract",
        lambda d: put(capability(d, "card.charge"), output={"type": "shop.Status"}),
        (("012", f"{CHARGE} output"),),
    ),
    Fires(
        "013",
        "a promise is withdrawn",
        lambda d: put(capability(d, "mail.send"), idempotent=False),
        (("013", "capability mail.send@1"),),
    ),
    Fires(
        "014",
        "everybody signed in may",
        lambda d: put(capability(d, "card.charge"), authorization={"mode": "Authenticated"}),
        (("014", CHARGE),),
    ),
    Fires(
        "014",
        "anybody may",
        lambda d: put(capability(d, "card.refund"), authorization={"mode": "Public", "approvedBy": "Ada"}),
        (("014", "capability card.refund@1"),),
    ),
    Fires(
        "015",
        "nobody outside may any more",
        lambda d: put(capability(d, "card.charge"), authorization={"mode": "Internal"}),
        (("015", CHARGE),),
    ),
    Fires(
        "015",
        "a permission became a policy",
        lambda d: put(capability(d, "card.charge"), authorization={"mode": "Policy", "value": "orders.write"}),
        (("015", CHARGE),),
    ),
    Fires(
        "015",
        "another permission is asked for",
        lambda d: put(capability(d, "card.charge")["authorization"], value="orders.admin"),
        (("015", CHARGE),),
    ),
    Fires(
        "015",
        "a stance nobody knows",
        lambda d: put(capability(d, "card.charge"), authorization={"mode": "Magic"}),
        (("015", CHARGE),),
    ),
    Fires(
        "016",
        "it touches more",
        lambda d: put(capability(d, "card.charge"), sideEffects=["card-provider", "ledger"]),
        (("016", f"{CHARGE} side effect ledger"),),
    ),
    Fires(
        "017",
        "a code was renamed",
        _rename_error,
        (("017", f"{CHARGE} error card.declined"), ("104", f"{CHARGE} error card.refused")),
    ),
    Fires(
        "018",
        "a code has another category",
        lambda d: put(d["errors"][0], category="Unavailable"),
        (("018", "error card.declined"),),
    ),
    Fires(
        "019",
        "a catalogue is withheld",
        lambda d: put(capability(d, "card.charge"), errors=...),
        (("019", CHARGE),),
    ),
    Fires("020", "an event is removed", lambda d: put(d, events=[]), (("020", "event order.placed@1"),)),
    Fires(
        "020",
        "an event's major moved on",
        lambda d: put(d["events"][0], schemaVersion="2.0.0"),
        (("020", "event order.placed@1"), ("102", "event order.placed@2")),
    ),
    Fires(
        "021",
        "a signal is no longer awaited",
        lambda d: put(step(d, 4), kind="Delay", signal=..., timeout=..., branches=...),
        (("021", f"{PLACE} signal order.signed"),),
    ),
    Fires(
        "022",
        "a poll starts to accept a signal",
        lambda d: put(step(d, 6), signal="stock.arrived"),
        (("022", f"{PLACE} signal stock.arrived"),),
    ),
    Fires(
        "022",
        "a renamed signal shows both halves, and no window",
        lambda d: put(step(d, 4), signal="order.countersigned", timeout="P8D"),
        (("021", f"{PLACE} signal order.signed"), ("022", f"{PLACE} signal order.countersigned")),
    ),
    Fires(
        "030",
        "a required field is added to an input",
        lambda d: add_field(d, "Mail", "subject", {"type": "string"}, required=True),
        (("030", "contract shop.Mail.subject"),),
    ),
    Fires(
        "030",
        "an optional field of a signal becomes required",
        lambda d: put(contract(d, "Signed"), required=["by", "remark"]),
        (("030", "contract shop.Signed.remark"),),
    ),
    Fires(
        "030",
        "inside a list",
        lambda d: add_field(d, "Line", "unit", {"type": "string"}, required=True),
        (("030", "contract shop.Line.unit"),),
    ),
    Fires(
        "031",
        "a field of an input is removed",
        lambda d: remove_field(d, "PlaceOrder", "note"),
        (("031", "contract shop.PlaceOrder.note"),),
    ),
    Fires(
        "031",
        "a field of an input is renamed",
        lambda d: (remove_field(d, "Mail", "to"), add_field(d, "Mail", "recipient", {"type": "string"}, required=True)),
        (("030", "contract shop.Mail.recipient"), ("031", "contract shop.Mail.to")),
    ),
    Fires(
        "032",
        "a constraint is tightened",
        lambda d: put(contract(d, "Mail")["properties"]["body"], maxLength=100),
        (("032", "contract shop.Mail.body"),),
    ),
    Fires(
        "032",
        "a type changed",
        lambda d: put(contract(d, "Line")["properties"], count={"type": "string"}),
        (("032", "contract shop.Line.count"),),
    ),
    Fires(
        "032",
        "null is refused",
        lambda d: put(contract(d, "PlaceOrder")["properties"], note={"type": "string"}),
        (("032", "contract shop.PlaceOrder.note"),),
    ),
    Fires(
        "032",
        "unknown members are refused",
        lambda d: put(contract(d, "Mail"), additionalProperties=False),
        (("032", "contract shop.Mail"),),
    ),
    Fires(
        "033",
        "a field of an output is removed",
        lambda d: remove_field(d, "OrderResult", "state"),
        (("033", "contract shop.OrderResult.state"),),
    ),
    Fires(
        "033",
        "a field of an event is removed",
        lambda d: remove_field(d, "OrderPlaced", "address"),
        (("033", "contract shop.OrderPlaced.address"),),
    ),
    Fires(
        "034",
        "an output may be null",
        lambda d: put(
            contract(d, "OrderResult")["properties"], order_id={"anyOf": [{"type": "string"}, {"type": "null"}]}
        ),
        (("034", "contract shop.OrderResult.order_id"),),
    ),
    Fires(
        "034",
        "an output has one value more",
        lambda d: contract(d, "OrderResult")["properties"]["state"]["enum"].append("parked"),
        (("034", "contract shop.OrderResult.state"),),
    ),
    Fires(
        "034",
        "a contract of both sides gets both verdicts",
        lambda d: contract(d, "Address")["properties"]["country"]["enum"].append("it"),
        (("034", "contract shop.Address.country"), ("112", "contract shop.Address.country")),
    ),
    Fires(
        "035",
        "a step is no longer undone",
        lambda d: put(step(d, 0), compensation=...),
        (("035", f"{PLACE} step charge"),),
    ),
    Fires(
        "036",
        "a fork asks less",
        lambda d: put(step(d, 1), merge="AllSettled"),
        (("036", f"{PLACE} fork of mail.send, stock.reserve"),),
    ),
    Fires(
        "036",
        "a flow inside is let go",
        lambda d: put(step(d, 8), mode="Detached"),
        (("036", f"{PLACE} sub-flow order.ship"),),
    ),
    Fires(
        "040",
        "steps change under one version",
        lambda d: put(flow(d), planDigest="another digest"),
        (("040", "flow order.place@1.1.0"),),
    ),
    Fires(
        "040",
        "the plan of a retired version changes",
        lambda d: put(flow(d)["retiredPlans"][0], planDigest="another digest"),
        (("040", "flow order.place@1.0.0"),),
    ),
    Fires(
        "041", "a retired plan is gone", lambda d: put(flow(d), retiredPlans=...), (("041", "flow order.place@1.0.0"),)
    ),
    Fires(
        "041",
        "a version moves on without its plan",
        lambda d: bump(d, "1.2.0", keep_old=False),
        (("041", "flow order.place@1.1.0"), ("212", PLACE)),
    ),
    Fires("100", "a second major beside the first", _second_major, (("100", "flow order.ship@2"),)),
    Fires(
        "101",
        "a capability is added",
        lambda d: d["capabilities"].append({**capability(d, "mail.send"), "id": "mail.queue"}),
        (("101", "capability mail.queue@1"),),
    ),
    Fires(
        "102",
        "an event is added",
        lambda d: d["events"].append({"type": "order.lost", "schemaVersion": "1.0.0"}),
        (("102", "event order.lost@1"),),
    ),
    Fires(
        "103",
        "a route is added",
        lambda d: flow(d)["triggers"].append({"kind": "Http", "method": "PUT", "route": "/orders"}),
        (("103", "flow order.place@1 trigger Http PUT /orders"),),
    ),
    Fires(
        "104",
        "a code is added",
        lambda d: capability(d, "card.refund")["errors"].append("card.declined"),
        (("104", "capability card.refund@1 error card.declined"),),
    ),
    Fires("105", "a promise is made", lambda d: put(capability(d, "card.charge"), idempotent=True), (("105", CHARGE),)),
    Fires(
        "106",
        "it touches less",
        lambda d: put(capability(d, "card.charge"), sideEffects=[]),
        (("106", f"{CHARGE} side effect card-provider"),),
    ),
    Fires(
        "107",
        "a nested member is marked",
        _mark_zip,
        (("107", "event order.placed@1"), ("107", f"{PLACE} input")),
    ),
    Fires(
        "108", "a person is asked more", lambda d: put(trigger(d, "Agent"), confirmation="Always"), (("108", AGENT),)
    ),
    Fires(
        "110",
        "an input has an optional field more",
        lambda d: add_field(d, "Mail", "subject", {"type": "string"}),
        (("110", "contract shop.Mail.subject"),),
    ),
    Fires(
        "111",
        "an output has a field more",
        lambda d: add_field(d, "Status", "since", {"type": "string"}, required=True),
        (("111", "contract shop.Status.since"),),
    ),
    Fires(
        "112",
        "an input needs a field less",
        lambda d: put(contract(d, "Mail"), required=["to"]),
        (("112", "contract shop.Mail.body"),),
    ),
    Fires(
        "112",
        "an input may be null and left out: one change",
        lambda d: (
            put(contract(d, "Mail"), required=["to"]),
            put(contract(d, "Mail")["properties"], body={"type": ["string", "null"], "maxLength": 500}),
        ),
        (("112", "contract shop.Mail.body"),),
    ),
    Fires(
        "113",
        "a step is undone",
        lambda d: put(step(d, 2), compensation="mail.send@1.0.0"),
        (("113", f"{PLACE} step stock.reserve@1"),),
    ),
    Fires(
        "114",
        "an output is always there",
        lambda d: put(contract(d, "OrderResult"), required=["order_id", "state", "hint"]),
        (("114", "contract shop.OrderResult.hint"),),
    ),
    Fires("200", "an older major of the schema", lambda d: put(d, schemaVersion="0.9.0"), (("200", "manifest"),)),
    Fires("201", "another application", lambda d: put(d["application"], name="bank"), (("201", "application"),)),
    Fires(
        "202", "a flow becomes durable", lambda d: put(flow(d, 1), profile="Durable"), (("202", "flow order.ship@1"),)
    ),
    Fires("203", "a deadline disappears", lambda d: put(flow(d), deadline=...), (("203", PLACE),)),
    Fires(
        "204",
        "a notice is withdrawn",
        lambda d: put(capability(d, "stock.reserve"), deprecated=...),
        (("204", "capability stock.reserve@1"),),
    ),
    Fires("205", "another zone", lambda d: put(trigger(d, "Schedule"), timeZone="UTC"), (("205", CRON),)),
    Fires(
        "206", "a window changes", lambda d: put(step(d, 4), timeout="P14D"), (("206", f"{PLACE} signal order.signed"),)
    ),
    Fires(
        "206",
        "a window is not published any more",
        lambda d: put(step(d, 4), timeout=...),
        (("206", f"{PLACE} signal order.signed"),),
    ),
    Fires(
        "210", "a contract is renamed", lambda d: rename_contract(d, "Mail", "Letter"), (("210", "contract shop.Mail"),)
    ),
    Fires("210", "a nested contract is renamed", _inline_rename, (("210", "contract shop.Line"),)),
    Fires("211", "a contract becomes opaque", lambda d: _opaque(d, "Mail"), (("211", "contract shop.Mail"),)),
    Fires(
        "211",
        "one finding though it is used on both sides",
        lambda d: _opaque(d, "Receipt"),
        (("211", "contract shop.Receipt"),),
    ),
    Fires(
        "211",
        "an event no longer says what it carries",
        lambda d: put(d["events"][0], contract=...),
        (("211", "event order.placed@1"),),
    ),
    Fires("212", "steps change under a new version", _swap_steps, (("212", PLACE),)),
)

SILENT = (
    Silent(
        "001",
        "a patch of a flow",
        lambda d: put(
            flow(d, 1), version="1.0.1", retiredPlans=[{"version": "1.0.0", "planDigest": "digest of shipping"}]
        ),
    ),
    Silent(
        "002",
        "the input is only renamed",
        lambda d: rename_contract(d, "PlaceOrder", "Order"),
        (("210", "contract shop.PlaceOrder"),),
    ),
    Silent(
        "003",
        "the output is only renamed",
        lambda d: rename_contract(d, "OrderResult", "Result"),
        (("210", "contract shop.OrderResult"),),
    ),
    Silent(
        "004",
        "an ephemeral flow becomes durable",
        lambda d: put(flow(d, 1), profile="Durable"),
        (("202", "flow order.ship@1"),),
    ),
    Silent("005", "a broker is named", lambda d: put(trigger(d, "Bus"), transport="kafka")),
    Silent("005", "another consumer group", lambda d: put(trigger(d, "Bus"), group="others")),
    Silent("005", "triggers in another order", lambda d: flow(d)["triggers"].reverse()),
    Silent(
        "006",
        "a marked member is gone",
        lambda d: (put(flow(d)["input"], sensitive=...), remove_field(d, "PlaceOrder", "national_id")),
        (("031", "contract shop.PlaceOrder.national_id"),),
    ),
    Silent("007", "absent becomes false", lambda d: put(trigger(d, "Bus"), idempotent=False)),
    Silent("008", "a trigger without a key", lambda d: put(trigger(d, "Schedule"), idempotent=False)),
    Silent("009", "a tool's description", lambda d: put(trigger(d, "Agent"), description="Order.")),
    Silent("010", "a minor of a capability", lambda d: put(capability(d, "mail.send"), version="1.1.0")),
    Silent(
        "011",
        "the input is only renamed",
        lambda d: rename_contract(d, "Charge", "CardCharge"),
        (("210", "contract shop.Charge"),),
    ),
    Silent(
        "012",
        "the output is only renamed",
        lambda d: rename_contract(d, "Status", "StockStatus"),
        (("210", "contract shop.Status"),),
    ),
    Silent(
        "013", "another field of the capability", lambda d: put(capability(d, "mail.send"), source="shop/mail.py:Send")
    ),
    Silent("014", "another reviewer", lambda d: put(capability(d, "mail.send")["authorization"], approvedBy="Grace")),
    Silent(
        "015", "somebody else may be asked", lambda d: put(capability(d, "mail.send")["authorization"], approvedBy=...)
    ),
    Silent("016", "no effects, told instead of left out", lambda d: put(capability(d, "mail.send"), sideEffects=[])),
    Silent(
        "017",
        "a code listed twice",
        lambda d: put(capability(d, "card.charge"), errors=["card.declined", "card.declined"]),
    ),
    Silent(
        "018", "a code nobody lists yet", lambda d: d["errors"].append({"code": "card.lost", "category": "Internal"})
    ),
    Silent("019", "withheld on both sides", lambda d: put(capability(d, "mail.send"), version="1.0.1")),
    Silent("020", "no flow emits it any more", lambda d: (put(flow(d), emits=[]), flow(d)["steps"].pop())),
    Silent("020", "a minor of an event", lambda d: put(d["events"][0], schemaVersion="1.1.0")),
    Silent("021", "the wait moved behind a condition", _move_wait),
    Silent("022", "a second wait for one signal", lambda d: put(step(d, 6), signal="order.signed")),
    Silent(
        "030",
        "the new field has a default",
        lambda d: add_field(d, "Mail", "subject", {"type": "string"}),
        (("110", "contract shop.Mail.subject"),),
    ),
    Silent(
        "031",
        "a field of an output only",
        lambda d: remove_field(d, "OrderResult", "hint"),
        (("033", "contract shop.OrderResult.hint"),),
    ),
    Silent(
        "032",
        "the input takes more",
        lambda d: put(contract(d, "Mail")["properties"]["body"], maxLength=900),
        (("112", "contract shop.Mail.body"),),
    ),
    Silent(
        "033",
        "a field of an input only",
        lambda d: remove_field(d, "Signed", "remark"),
        (("031", "contract shop.Signed.remark"),),
    ),
    Silent(
        "034",
        "the output holds less",
        lambda d: contract(d, "OrderResult")["properties"]["state"]["enum"].pop(),
        (("114", "contract shop.OrderResult.state"),),
    ),
    Silent(
        "035",
        "the effects went too",
        lambda d: (put(step(d, 0), compensation=...), put(capability(d, "card.charge"), sideEffects=[])),
        (("106", f"{CHARGE} side effect card-provider"),),
    ),
    Silent("035", "undone by something else", lambda d: put(step(d, 0), compensation="mail.send@1.0.0")),
    Silent("036", "a fork asks more", lambda d: put(step(d, 1), merge="AllMustSucceed")),
    Silent("036", "the usual mode is no longer told", lambda d: put(step(d, 8), mode=...)),
    Silent("040", "the version moved on too", lambda d: bump(d, "1.2.0"), (("212", PLACE),)),
    Silent("041", "the old plan is kept", lambda d: bump(d, "1.2.0"), (("212", PLACE),)),
    Silent("100", "flows in another order", lambda d: d["flows"].reverse()),
    Silent("101", "capabilities in another order", lambda d: d["capabilities"].reverse()),
    Silent("102", "who emits it", lambda d: put(d["events"][0], producedBy=["order.place"])),
    Silent("103", "who is told", lambda d: put(trigger(d, "Bus"), group="others")),
    Silent(
        "104", "an error of no capability", lambda d: d["errors"].append({"code": "card.lost", "category": "Internal"})
    ),
    Silent("105", "who uses it", lambda d: put(capability(d, "card.charge"), usedBy=["order.place", "order.ship"])),
    Silent(
        "106",
        "an effect is added",
        lambda d: put(capability(d, "mail.send"), sideEffects=["mail"]),
        (("016", "capability mail.send@1 side effect mail"),),
    ),
    Silent(
        "107",
        "a new member is marked",
        lambda d: add_field(d, "Mail", "secret", {"type": "string", "sensitive": True}),
        (("110", "contract shop.Mail.secret"),),
    ),
    Silent("108", "a tool's description", lambda d: put(trigger(d, "Agent"), description="Order.")),
    Silent(
        "110",
        "the field is added to an output",
        lambda d: add_field(d, "Status", "since", {"type": "string"}),
        (("111", "contract shop.Status.since"),),
    ),
    Silent(
        "111",
        "the field is added to an input",
        lambda d: add_field(d, "Charge", "memo", {"type": "string"}),
        (("110", "contract shop.Charge.memo"),),
    ),
    Silent(
        "112",
        "an output takes more",
        lambda d: put(contract(d, "Status")["properties"], done={"type": ["boolean", "null"]}),
        (("034", "contract shop.Status.done"),),
    ),
    Silent(
        "113",
        "another step is written",
        lambda d: flow(d)["steps"].append(
            {"id": 30, "kind": "Capability", "capability": "mail.send@1.0.0", "compensation": "mail.send@1.0.0"}
        ),
    ),
    Silent(
        "114",
        "an input takes less",
        lambda d: put(contract(d, "Charge"), required=["amount", "currency"]),
        (("030", "contract shop.Charge.currency"),),
    ),
    Silent("200", "a minor of the schema", lambda d: put(d, schemaVersion="1.7.0")),
    Silent("201", "a version of the application", lambda d: put(d["application"], version="9.0.0")),
    Silent("202", "another owner", lambda d: put(flow(d), owner="others")),
    Silent("203", "a wait is longer", lambda d: put(step(d, 6), timeout="PT5H")),
    Silent(
        "204", "another field of the capability", lambda d: put(capability(d, "stock.reserve"), source="shop/x.py:Y")
    ),
    Silent(
        "205",
        "UTC said or not",
        lambda d: flow(d)["triggers"].append({"kind": "Schedule", "cron": "1 1 * * *"}),
        (("103", "flow order.place@1 trigger Schedule 1 1 * * *"),),
    ),
    Silent("206", "a poll without a signal", lambda d: put(step(d, 6), timeout=...)),
    Silent(
        "210",
        "renamed and another field: told as replaced",
        lambda d: (rename_contract(d, "Mail", "Letter"), add_field(d, "Letter", "x", {"type": "string"})),
        (("011", "capability mail.send@1 input"),),
    ),
    Silent(
        "211",
        "a contract nobody uses is opaque",
        lambda d: put(d["contracts"], **{"shop.Unused": {"x-flowx-opaque": "why"}}),
    ),
    Silent(
        "212",
        "a new version with the same steps",
        lambda d: put(
            flow(d, 1), version="1.0.1", retiredPlans=[{"version": "1.0.0", "planDigest": "digest of shipping"}]
        ),
    ),
)
