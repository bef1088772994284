"""What is compared with what when there is a choice, and edits that say nothing; then the holes of older tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from flowx_compiler.diff.compare import compare
from flowx_compiler.diff.reading import read_manifest
from tests.diff.cases import put
from tests.diff.conftest import Flowx
from tests.diff.sample import (
    Document,
    Edit,
    add_field,
    capability,
    contract,
    edited,
    findings,
    flow,
    report,
    sample,
    step,
    told,
)
from tests.diff.sample import trigger as trigger_of

PLACE = "flow order.place@1"
SIGNED = f"{PLACE} signal order.signed"
HTTP = f"{PLACE} trigger Http POST /orders"


def tell(edit: Edit) -> list[tuple[str, str]]:
    return told(sample(), edited(edit))


def in_text(old: str, new: str) -> Document:
    """The sample with its JSON text edited: a replacement that matches nothing is no test."""
    text = json.dumps(sample())
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the text"
    changed: Document = json.loads(text.replace(old, new))
    assert changed != sample()
    return changed


def test_a_document_against_itself_is_empty_and_compatible() -> None:
    found = report(sample(), sample())
    assert (found.findings, found.is_compatible, found.is_same_document) == ((), True, True)


SILENT: dict[str, Edit] = {
    "flows in another order": lambda d: d["flows"].reverse(),
    "capabilities in another order": lambda d: d["capabilities"].reverse(),
    "triggers in another order": lambda d: flow(d)["triggers"].reverse(),
    "an error listed twice by a capability": lambda d: capability(d, "card.charge")["errors"].append("card.declined"),
    "an error listed twice by the document": lambda d: d["errors"].append(dict(d["errors"][0])),
    "a step more": lambda d: flow(d)["steps"].append({"id": 30, "kind": "Delay"}),
    "no steps": lambda d: put(flow(d, 1), steps=[]),
    "another version of the application": lambda d: put(d["application"], version="1.0.1"),
    "no version of the application": lambda d: put(d["application"], version=...),
    "an event that is listed and no longer emitted": lambda d: (flow(d)["steps"].pop(5), put(flow(d), emits=[])),
    "a patch of a flow": lambda d: put(
        flow(d, 1), version="1.0.1", retiredPlans=[{"version": "1.0.0", "planDigest": "digest of shipping"}]
    ),
    "a minor of a capability": lambda d: put(capability(d, "mail.send"), version="1.1.0"),
    "a minor of an event": lambda d: put(d["events"][0], schemaVersion="1.1.0"),
    "a minor of the schema": lambda d: put(d, schemaVersion="1.1.0"),
    "another consumer group": lambda d: put(trigger_of(d, "Bus"), group="others"),
    "another description of a tool": lambda d: put(trigger_of(d, "Agent"), description="Buy things."),
    "a wait behind a condition": lambda d: put(
        flow(d), steps=[*(item for item in flow(d)["steps"] if item["id"] != 4), _behind(step(d, 4))]
    ),
    "steps around a wait": lambda d: (
        flow(d)["steps"].insert(2, {"id": 31, "kind": "Delay"}),
        flow(d)["steps"].insert(4, {"id": 32, "kind": "Delay"}),
    ),
    "a flow without an id": lambda d: d["flows"].append({"version": "1.0.0"}),
    "an older version of a flow beside it": lambda d: d["flows"].append(
        {**flow(d), "version": "1.0.0", "planDigest": "digest of 1.0.0", "profile": "Ephemeral", "triggers": []}
    ),
}


def _behind(wait: Document) -> Document:
    return {"id": 33, "kind": "Condition", "branches": [[wait]]}


@pytest.mark.parametrize("edit", SILENT)
def test_an_edit_that_says_nothing(edit: str) -> None:
    assert tell(SILENT[edit]) == []


def test_side_effects_in_another_order_are_no_change() -> None:
    first, second = sample(), sample()
    capability(first, "card.charge")["sideEffects"] = ["card-provider", "ledger"]
    capability(second, "card.charge")["sideEffects"] = ["ledger", "card-provider", "ledger"]
    assert told(first, second) == []


def test_the_schema_s_first_major_is_told_and_is_compatible() -> None:
    old, next_, first = (edited(lambda d, to=to: put(d, schemaVersion=to)) for to in ("0.1.0", "0.2.0", "1.1.0"))
    assert told(old, next_) == []
    assert told(next_, first) == [("200", "manifest")]
    assert report(next_, first).is_compatible


def test_a_renamed_signal_is_both_halves_and_no_window() -> None:
    new = in_text('"signal": "order.signed", "timeout": "P7D"', '"signal": "order.sealed", "timeout": "P8D"')
    assert told(sample(), new) == [("021", SIGNED), ("022", f"{PLACE} signal order.sealed")]


def test_a_wait_that_lost_its_published_window() -> None:
    (finding,) = findings(sample(), in_text('"signal": "order.signed", "timeout": "P7D"', '"signal": "order.signed"'))
    assert (finding.code, finding.subject) == ("FLOWX-DIFF-206", SIGNED)
    assert (finding.old, finding.new) == ("P7D", "(none)")


def test_of_two_triggers_on_one_address_the_last_counts() -> None:
    def twice(first: bool, last: bool) -> Document:
        document = sample()
        listed = flow(document)["triggers"]
        (http,) = [item for item in listed if item["kind"] == "Http"]
        flow(document)["triggers"] = [
            {**http, "idempotent": first},
            *(item for item in listed if item["kind"] != "Http"),
            {**http, "idempotent": last},
        ]
        return document

    assert told(sample(), twice(False, True)) == []
    assert told(sample(), twice(True, False)) == [("008", HTTP)]


def test_of_two_waits_for_one_signal_the_first_counts() -> None:
    def twice(first: str, last: str) -> Document:
        document = sample()
        put(step(document, 4), timeout=first)
        flow(document)["steps"].append({"id": 34, "kind": "AwaitSignal", "signal": "order.signed", "timeout": last})
        return document

    assert told(sample(), twice("P7D", "P9D")) == []
    assert told(sample(), twice("P9D", "P7D")) == [("206", SIGNED)]


def test_a_wait_inside_a_branch_comes_before_one_that_is_written_after_it() -> None:
    new = edited(lambda d: put(step(d, 1)["branches"][0][0], signal="order.signed", timeout="P1D"))
    assert told(sample(), new) == [("206", SIGNED)]


def test_a_changed_schedule_is_another_address() -> None:
    new = in_text('"cron": "0 2 * * *"', '"cron": "0 3 * * *"')
    assert told(sample(), new) == [
        ("005", f"{PLACE} trigger Schedule 0 2 * * *"),
        ("103", f"{PLACE} trigger Schedule 0 3 * * *"),
    ]


def test_a_trigger_without_an_address() -> None:
    assert tell(lambda d: flow(d)["triggers"].append({"kind": ""})) == [("103", f"{PLACE} trigger (unspecified)")]


EMPTY = {"schemaVersion": "1.0.0", "flows": [], "capabilities": []}


def test_empty_documents_have_nothing_to_say_and_no_name() -> None:
    found = compare(read_manifest(json.dumps(EMPTY), "old"), read_manifest(json.dumps(EMPTY), "new"))
    assert (found.findings, found.application) == ((), "unknown")


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_null_document_is_a_wrong_argument(flowx: Flowx, documents: Callable[..., Any], side: str) -> None:
    ran = flowx(*(documents("null", EMPTY) if side == "old" else documents(EMPTY, "null")))
    assert (ran.code, ran.out) == (2, "")
    assert "is JSON but not a flowx manifest" in ran.err


@pytest.mark.parametrize("old", [None, {}, {"flows": [1]}])
@pytest.mark.parametrize("new", [None, {}, {"x": {"schemaVersion": "9.0.0"}}])
def test_extensions_are_no_finding_and_exit_0(
    flowx: Flowx, documents: Callable[..., Any], old: Document | None, new: Document | None
) -> None:
    sides = [sample() if value is None else {**sample(), "extensions": value} for value in (old, new)]
    ran = flowx(*documents(*sides), "--format", "json")
    assert (ran.code, json.loads(ran.out)["findings"]) == (0, [])


def test_findings_come_by_class_then_code_then_subject() -> None:
    def much(document: Document) -> None:
        document["flows"].append({**flow(document, 1), "id": "z.new"})
        document["flows"].append({**flow(document, 1), "id": "a.new"})
        put(flow(document), deadline="P1D", profile="Ephemeral")
        document["capabilities"].pop()
        document["capabilities"].pop(0)

    new = edited(much)
    order = [(item.verdict.value, item.code, item.subject) for item in findings(sample(), new)]
    classes = ["breaking", "additive", "neutral"]
    assert order == sorted(order, key=lambda item: (classes.index(item[0]), *item[1:]))
    assert {item[0] for item in order} == set(classes)
    assert findings(sample(), new) == findings(sample(), new)


def test_only_the_newest_of_a_major_is_compared() -> None:
    def older(document: Document) -> None:
        document["flows"].insert(0, {**flow(document), "version": "1.0.5", "deadline": "PT1H", "planDigest": "old"})

    assert tell(older) == []
    assert told(edited(older), sample()) == [("041", "flow order.place@1.0.5")]


def test_a_release_is_newer_than_its_candidate_and_10_is_newer_than_9() -> None:
    for older, newer in (("1.2.0-rc.1", "1.2.0"), ("1.9.0", "1.10.0"), ("1.2.0-rc.9", "1.2.0-rc.10")):
        for first, second in ((older, newer), (newer, older)):
            document = sample()
            mail = capability(document, "mail.send")
            document["capabilities"] = [
                {**mail, "version": version, "idempotent": version == newer} for version in (first, second)
            ]
            expected = {item["id"] for item in sample()["capabilities"]} - {"mail.send"}
            assert told(sample(), document) == [("010", f"capability {id}@1") for id in sorted(expected)], first


def test_a_second_major_is_added_and_a_replaced_major_is_gone_and_added() -> None:
    second = edited(lambda d: d["capabilities"].append({**capability(d, "mail.send"), "version": "2.0.0"}))
    assert told(sample(), second) == [("101", "capability mail.send@2")]
    replaced = edited(lambda d: put(capability(d, "mail.send"), version="2.0.0", input={"type": "shop.Status"}))
    assert told(sample(), replaced) == [("010", "capability mail.send@1"), ("101", "capability mail.send@2")]


HOLES: dict[str, tuple[Edit, list[tuple[str, str]]]] = {
    "a field required, under the same class": (
        lambda d: put(contract(d, "Signed"), required=["by", "remark"]),
        [("030", "contract shop.Signed.remark")],
    ),
    "a field of another type, under the same class": (
        lambda d: put(contract(d, "Receipt")["properties"], number={"type": "integer"}),
        [("032", "contract shop.Receipt.number"), ("034", "contract shop.Receipt.number")],
    ),
    "a compensation removed": (lambda d: put(step(d, 0), compensation=...), [("035", f"{PLACE} step charge")]),
    "a merge rule weakened": (
        lambda d: put(step(d, 1), merge="FirstSuccess"),
        [("036", f"{PLACE} fork of mail.send, stock.reserve")],
    ),
    "a confirmation dropped": (
        lambda d: put(trigger_of(d, "Agent"), confirmation=...),
        [("009", f"{PLACE} trigger Agent")],
    ),
    "a confirmation nobody knows": (
        lambda d: put(trigger_of(d, "Agent"), confirmation="Maybe"),
        [("009", f"{PLACE} trigger Agent")],
    ),
    "no key, told instead of left out": (lambda d: put(trigger_of(d, "Bus"), idempotent=False), []),
    "a broker named": (lambda d: put(trigger_of(d, "Bus"), transport="kafka"), []),
    "a mark taken from a contract of a capability": (
        lambda d: contract(d, "PlaceOrder")["properties"]["national_id"].pop("sensitive"),
        # The flow's own list still names the member.
        [("006", f"{PLACE} input")],
    ),
    "a signal's payload of another type": (
        lambda d: put(contract(d, "Signed")["properties"], by={"type": "integer"}),
        [("032", "contract shop.Signed.by")],
    ),
}


@pytest.mark.parametrize("hole", HOLES)
def test_a_hole_is_closed(hole: str) -> None:
    edit, expected = HOLES[hole]
    assert tell(edit) == expected


def test_a_mark_taken_from_a_capability_s_contract_is_seen_there() -> None:
    old = edited(lambda d: put(contract(d, "Charge")["properties"]["amount"], sensitive=True))
    assert told(old, sample()) == [("006", "capability card.charge@1 input")]


def test_catalogues_withheld_on_both_sides_are_no_finding() -> None:
    withheld = edited(lambda d: put(capability(d, "card.charge"), errors=...))
    again = json.loads(json.dumps(withheld))
    capability(again, "card.charge")["version"] = "1.0.1"
    assert told(withheld, again) == []


def test_a_class_renamed_is_no_break() -> None:
    renamed = json.loads(json.dumps(sample()).replace("shop.Receipt", "shop.Proof"))
    assert told(sample(), renamed) == [("210", "contract shop.Receipt")]


@pytest.mark.parametrize("old", [..., "Perhaps"])
@pytest.mark.parametrize("new", ["Maybe"])
def test_a_confirmation_that_nobody_knows_is_never_a_stronger_one(old: Any, new: str) -> None:
    before = edited(lambda d: put(trigger_of(d, "Agent"), confirmation=old))
    after = edited(lambda d: put(trigger_of(d, "Agent"), confirmation=new))
    assert told(before, after) == [("009", f"{PLACE} trigger Agent")]
    known = edited(lambda d: put(trigger_of(d, "Agent"), confirmation="Never"))
    assert told(before, known) == [("108", f"{PLACE} trigger Agent")]


def test_one_broker_for_another_is_another_address() -> None:
    kafka, rabbit = (edited(lambda d, to=to: put(trigger_of(d, "Bus"), transport=to)) for to in ("kafka", "rabbit"))
    assert told(kafka, rabbit) == [
        ("005", f"{PLACE} trigger Bus kafka cart.closed"),
        ("103", f"{PLACE} trigger Bus rabbit cart.closed"),
    ]


def test_what_breaks_nobody_names_nobody_as_hurt() -> None:
    (added,) = findings(sample(), edited(lambda d: add_field(d, "Status", "since", {"type": "string"})))
    assert added.hurt.startswith("nobody; ")
    assert "seen by flows that read the result of capability stock.status@1 (here: order.place)" in added.hurt
    (broken,) = findings(sample(), edited(lambda d: contract(d, "Status")["properties"].pop("done")))
    assert broken.hurt == "flows that read the result of capability stock.status@1 (here: order.place)"
