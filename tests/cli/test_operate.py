"""Operating instances: list, inspect, signal, resume, retry."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from flowx_cli.building import build_project
from tests.cli.operated import CONSENT, PATIENT, SECRETS, Operator

CLINIC = Path(__file__).parent / "projects" / "clinic"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory, postgres_dsn: str) -> Iterator[Path]:
    root = shutil.copytree(CLINIC, tmp_path_factory.mktemp("operated") / "clinic")
    assert build_project(root).written
    before = os.environ.get("FLOWX_DSN")
    os.environ["FLOWX_DSN"] = postgres_dsn
    yield root
    os.environ.pop("FLOWX_DSN") if before is None else os.environ.update(FLOWX_DSN=before)
    sys.path[:] = [entry for entry in sys.path if entry != str(root)]
    for module in [name for name in sys.modules if name.partition(".")[0] == "clinic"]:
        del sys.modules[module]


@pytest.fixture
def flowx(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    """Whatever a test asks, no answer holds a sensitive value and no text is wider than a terminal."""
    operator = Operator(clinic, monkeypatch, [])
    yield operator
    for said in operator.said:
        assert not any(secret in said for secret in SECRETS)


@pytest.fixture
def parked(flowx: Operator) -> str:
    return flowx.start("visit.plan")


@pytest.fixture
def stuck(flowx: Operator, parked: str) -> str:
    flowx("signal", parked, "consent.given", "--data", json.dumps(CONSENT), down="bill.make record.close")
    return parked


def test_the_newest_instances_are_listed_with_what_they_wait_for_and_failed_with(flowx: Operator, parked: str) -> None:
    failed = flowx.start("visit.plan", down="record.open")
    listed = flowx("ps", "--flow", "visit.plan", "--limit", "2", "--json").json
    assert [each["instanceId"] for each in listed["instances"]] == [failed, parked]
    newest, waiting = listed["instances"]
    assert (newest["state"], newest["error"], newest["waitsFor"]) == ("Failed", "clinic.away", [])
    assert set(newest) == {
        "instanceId", "flow", "version", "state", "startedAt", "since", "waitsFor", "error", "parent",
        "setback", "paused",
    }  # fmt: skip
    (wait,) = waiting["waitsFor"]
    assert set(wait) == {"signal", "instance", "until", "scope", "step"}
    assert (wait["signal"], wait["scope"], wait["step"]) == ("consent.given", "", 1)


def test_a_listing_is_narrowed_by_state_and_says_that_there_is_more(flowx: Operator, parked: str) -> None:
    flowx.start("visit.plan", down="record.open")
    states = {each["state"] for each in flowx("ps", "--state", "suspended", "--json").json["instances"]}
    assert states == {"Suspended"}
    one = flowx("ps", "--limit", "1", "--json").json
    assert (len(one["instances"]), one["more"]) == (1, True)
    assert "there are more" in flowx("ps", "--limit", "1").out
    assert flowx("ps", "--flow", "no.such", "--json").json == {"instances": [], "more": False}
    assert flowx("ps", "--flow", "no.such").out == "no instance\n"


def test_text_fits_a_terminal(flowx: Operator, stuck: str) -> None:
    flowx.start("family.visit")
    flowx.start("letter.write", down="letter.send")
    texts = [flowx("ps").out]
    texts += [flowx("inspect", each["instanceId"]).out for each in flowx("ps", "--json").json["instances"]]
    lines = [line for text in texts for line in text.splitlines() if "flowx signal" not in line]
    assert len(lines) > 50
    assert [line for line in lines if len(line) > 100] == []


def test_inspecting_a_parked_instance_says_how_to_deliver(flowx: Operator, parked: str) -> None:
    found = flowx.inspect(parked)
    assert found["input"] == PATIENT | {"national_id": "[redacted]"}
    (wait,) = found["waits"]
    command, request = wait["deliver"]
    assert command == f'flowx signal {parked} consent.given --data \'{{"by": …, "words": …}}\''
    assert request == f"POST /api/v1/visits/{parked}/signals/consent.given"
    (row,) = found["rows"]
    assert (row["sequence"], row["name"], row["outcome"], row["error"]) == (1, "record.open", "Success", None)
    assert set(found) == {
        "instanceId", "flow", "version", "planDigest", "state", "startedAt", "since", "deadline", "correlationId",
        "tenantId", "input", "output", "error", "cancelReason", "stands", "waits", "rows", "inbox", "once", "events",
        "parent", "children", "lease", "setback", "paused",
    }  # fmt: skip


def test_a_signal_is_delivered_once_by_its_id(flowx: Operator, parked: str) -> None:
    data = json.dumps(CONSENT)
    answer = flowx("signal", parked, "consent.given", "--data", data, "--delivery-id", "d-1", "--json")
    assert (answer.code, answer.json["status"]) == (0, "completed")
    found = flowx.inspect(parked)
    (delivery,) = found["inbox"]
    assert (delivery["deliveryId"], delivery["payload"]) == ("d-1", {"by": "Ada", "words": "[redacted]"})
    assert delivery["takenAt"] is not None
    (event,) = found["events"]
    assert (event["type"], event["status"]) == ("visit.closed", "pending")
    assert flowx("signal", parked, "consent.given", "--data", data, "--delivery-id", "d-1").code == 0
    ended = flowx("signal", parked, "consent.given", "--data", data, "--delivery-id", "d-2")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "has ended" in ended.err


def test_what_cannot_be_delivered_is_told_in_one_sentence(flowx: Operator, parked: str, tmp_path: Path) -> None:
    unknown = flowx("signal", parked, "consent.gven", "--data", "{}")
    assert unknown.code == 3
    assert "known are consent.given" in unknown.err
    wrong = flowx("signal", parked, "consent.given", "--data", json.dumps({"by": 7, "words": SECRETS[1]}))
    assert wrong.code == 2
    assert "this is not the data of consent.given: by: " in wrong.err
    assert flowx("signal", parked, "consent.given", "--data", f"@{tmp_path / 'none'}").code == 2
    nobody = flowx("signal", str(uuid4()), "consent.given", "--data", "{}")
    assert (nobody.code, "has no instance" in nobody.err) == (3, True)
    assert [answer.err.count("\n") for answer in (unknown, wrong, nobody)] == [1, 1, 1]
    assert flowx.inspect(parked)["inbox"] == []


def test_a_failed_undo_is_explained_and_retried(flowx: Operator, stuck: str) -> None:
    found = flowx.inspect(stuck)
    assert found["state"] == "CompensationFailed"
    assert "record.close could not undo 'record.open' in 3 attempts, last with clinic.away" in found["stands"][0]
    assert f"flowx retry {stuck}" in found["stands"][1]
    again = flowx("retry", stuck, "--by", "ada", "--json", down="record.close")
    assert (again.code, again.json["compensation"]) == (1, "failed")
    assert "in 3 attempts" in flowx.inspect(stuck)["stands"][0]
    done = flowx("retry", stuck, "--by", "grace", "--json")
    assert (done.code, done.json["compensation"]) == (0, "completed")
    found = flowx.inspect(stuck)
    assert (found["state"], found["stands"]) == ("Failed", [])
    assert [row["name"] for row in found["rows"] if row["capability"] == "flow.reopened"] == ["ada", "grace"]
    assert flowx("replay", stuck).code == 0
    over = flowx("retry", stuck)
    assert (over.code, "start a new one" in over.err) == (2, True)


def test_an_attempt_that_is_due_later_is_explained_and_made_now(flowx: Operator) -> None:
    instance = flowx.start("lab.order", down="lab.ask")
    assert "step 'lab.ask' is tried again at" in flowx.inspect(instance)["stands"][0]
    assert flowx("resume", instance, "--json").json["status"] == "suspended"
    assert flowx("retry", instance, "--json").json["status"] == "completed"


def test_a_step_inside_a_capability_is_shown_with_its_next_attempt_and_tried_now(flowx: Operator) -> None:
    instance = flowx.start("letter.write", down="letter.send")
    kept = {step["path"].rpartition("/")[2]: step for step in flowx.inspect(instance)["once"]}
    assert (kept["write"]["done"], kept["send"]["done"], kept["send"]["attempts"]) == (True, False, 1)
    assert (kept["send"]["error"]["code"], kept["send"]["due"] is not None) == ("clinic.away", True)
    assert flowx("retry", instance, "--json").json["status"] == "completed"


def test_a_parent_names_the_child_it_waits_for(flowx: Operator) -> None:
    parent = flowx.start("family.visit")
    found = flowx.inspect(parent)
    (child,) = found["children"]
    assert found["waits"][0]["instance"] == child["instanceId"]
    assert flowx.inspect(child["instanceId"])["parent"]["instanceId"] == parent
    refused = flowx("retry", parent)
    assert (refused.code, child["instanceId"] in refused.err) == (2, True)


def test_an_instance_that_its_node_left_is_explained_and_resumed(
    flowx: Operator, parked: str, postgres_dsn: str
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(
            "update flowx.flow_instance set state = 'Running', wake_at = null, wake_step_id = null, wake_scope = null,"
            " wake_signal_id = null, wait_count = 0 where instance_id = %s",
            [parked],
        )
        connection.execute("insert into flowx.flow_lease values (%s, 'gone', 9, now())", [parked])
    found = flowx.inspect(parked)
    assert (found["lease"]["owner"], found["lease"]["live"]) == ("gone", False)
    assert found["stands"][0].startswith("nobody works on it since")
    assert flowx("resume", parked, "--json").json["status"] == "suspended"
    assert flowx.inspect(parked)["state"] == "Suspended"


def test_a_plan_that_this_project_lacks_is_the_first_thing_said(
    flowx: Operator, parked: str, postgres_dsn: str
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("update flowx.flow_instance set plan_digest = 'another' where instance_id = %s", [parked])
    assert "another plan of visit.plan 1.0.0" in flowx.inspect(parked)["stands"][0]
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("update flowx.flow_instance set flow_version = '0.9.0' where instance_id = %s", [parked])
    assert "no plan of visit.plan 0.9.0" in flowx.inspect(parked)["stands"][0]
    assert flowx("resume", parked).code == 2


def test_waiting_for_an_instance_that_nothing_here_goes_on_with_ends(flowx: Operator, postgres_dsn: str) -> None:
    arguments = ("run", "visit.plan", "--input", json.dumps(PATIENT), "--key", uuid4().hex)
    instance = flowx(*arguments, "--json").json["instanceId"]
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("update flowx.flow_instance set plan_digest = 'another' where instance_id = %s", [instance])
    waited = flowx(*arguments, "--wait")
    assert waited.code == 1
    assert f"instance {instance} is pinned to another plan" in waited.err


def test_what_is_sealed_is_left_out(flowx: Operator, parked: str, postgres_dsn: str) -> None:
    shown = PATIENT | {"national_id": "[redacted]"}
    sealed = json.dumps({"flowx.sealed/1": {"/national_id": "k1:SECRET-OF-ADA"}, "value": shown})
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("update flowx.flow_instance set input = %s where instance_id = %s", [sealed, parked])
    assert flowx.inspect(parked)["input"] == shown
    assert "[redacted]" in flowx("inspect", parked).out


def test_no_other_verb_shows_what_is_sensitive_either(flowx: Operator, stuck: str, parked: str) -> None:
    drawn = [flowx("graph", "--instance", stuck, "--format", kind) for kind in ("mermaid", "dot", "svg", "html")]
    assert [answer.code for answer in drawn] == [0, 0, 0, 0]
    assert "undo failed: clinic.away" in drawn[2].out
    assert flowx("graph", "--instance", stuck, "--flow", "visit.plan").code == 2
    other = flowx.start("visit.plan")
    for arguments in (("replay", other), ("cancel", other, "--reason", "moved"), ("inspect", other), ("db", "status")):
        assert flowx(*arguments).code == 0
    wrong = json.dumps({"name": 7, "national_id": SECRETS[0]})
    assert flowx("run", "visit.plan", "--input", wrong).code == 2


def test_a_run_with_plans_older_than_their_sources_says_so(flowx: Operator) -> None:
    flows = flowx.root / "clinic" / "flows.py"
    text = flows.read_text("utf-8")
    fresh = flowx("run", "bill.print", "--input", json.dumps(PATIENT))
    assert (fresh.code, fresh.err) == (0, "")
    try:
        flows.write_text(text.replace('timeout="P7D"', 'timeout="P8D"'), "utf-8")
        assert "the plans are older than the sources" in flowx("run", "bill.print", "--input", json.dumps(PATIENT)).err
        flows.write_text(text + "\n\ndef broken(:\n", "utf-8")
        assert "do not build" in flowx("run", "bill.print", "--input", json.dumps(PATIENT)).err
    finally:
        flows.write_text(text, "utf-8")


def test_what_is_not_there_is_told_apart_from_what_is_wrong(flowx: Operator) -> None:
    for verb in ("inspect", "resume", "retry"):
        assert flowx(verb, str(uuid4())).code == 3
        assert flowx(verb, "seven").code == 2
