"""Pausing and unpausing from the command line, and seeing what stands still."""

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
from psycopg import sql
from psycopg.conninfo import make_conninfo

from flowx_cli.building import build_project
from tests.cli.operated import CONSENT, PATIENT, Operator

CLINIC = Path(__file__).parent / "projects" / "clinic"


@pytest.fixture(scope="module")
def dsn(postgres_dsn: str) -> Iterator[str]:
    """A database of its own: what is paused here must not stand still elsewhere."""
    name = f"pause_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_conninfo(postgres_dsn, dbname=name)
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory, dsn: str) -> Iterator[Path]:
    root = shutil.copytree(CLINIC, tmp_path_factory.mktemp("paused") / "clinic")
    assert build_project(root).written
    before = os.environ.get("FLOWX_DSN")
    os.environ["FLOWX_DSN"] = dsn
    yield root
    os.environ.pop("FLOWX_DSN") if before is None else os.environ.update(FLOWX_DSN=before)
    sys.path[:] = [entry for entry in sys.path if entry != str(root)]
    for module in [name for name in sys.modules if name.partition(".")[0] == "clinic"]:
        del sys.modules[module]


@pytest.fixture
def flowx(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    operator = Operator(clinic, monkeypatch, [])
    yield operator
    for target in ("visit.plan", "--all"):
        operator("unpause", target)


def test_p55_a_flow_is_paused_seen_to_be_and_goes_on(flowx: Operator) -> None:
    parked = flowx.start("visit.plan")
    said = flowx("pause", "visit.plan", "--reason", "the records are moved").out
    assert said == "visit.plan is paused (the records are moved): `flowx unpause visit.plan` when it may go on\n"
    again = flowx("pause", "visit.plan", "--reason", "another")
    assert (again.code, again.out.startswith("it was paused already: visit.plan is paused (the records")) == (0, True)

    unkept = flowx("run", "visit.plan", "--input", json.dumps(PATIENT))
    assert (unkept.code, "would wait without its sensitive members" in unkept.err) == (2, True)
    signal = ("signal", parked, "consent.given", "--data", json.dumps(CONSENT), "--json")
    unkept = flowx(*signal)
    assert (unkept.code, "would wait without its sensitive members" in unkept.err) == (2, True)
    refused = flowx("resume", parked)
    assert (refused.code, "visit.plan is paused (the records are moved)" in refused.err) == (2, True)

    listed = {each["instanceId"]: each["paused"] for each in flowx("ps", "--json").json["instances"]}
    assert listed == {parked: True}
    text = flowx("ps").out
    assert text.count("\n    paused\n") == 1
    assert "visit.plan is paused (the records are moved)" in text
    (why, *_) = flowx.inspect(parked)["stands"]
    assert why.startswith("visit.plan is paused (the records are moved)")
    assert "; paused since 20" in why
    assert "paused     visit.plan is paused (the records are moved)" in flowx("db", "status").out
    (paused,) = flowx("db", "status", "--json").json["paused"]
    assert (paused["target"], paused["reason"]) == ("visit.plan", "the records are moved")

    assert flowx("unpause", "visit.plan").out == "visit.plan goes on\n"
    assert flowx(*signal).json["status"] == "completed"
    assert not any(each["paused"] for each in flowx("ps", "--json").json["instances"])
    assert flowx("db", "status", "--json").json["paused"] == []


def test_p55_everything_and_one_instance_are_paused_each_by_itself(flowx: Operator) -> None:
    parked = flowx.start("visit.plan")
    assert flowx("pause", "--all").out.startswith("everything is paused: `flowx unpause --all`")
    assert flowx("pause", parked.upper(), "--json").json == {"target": parked, "reason": "", "new": True}
    still = flowx("unpause", "--all")
    assert still.out.splitlines()[0] == "everything goes on"
    assert still.out.splitlines()[1].startswith(f"still, {parked} is paused")
    assert flowx("resume", parked).code == 2
    assert flowx("unpause", parked).code == 0
    assert flowx("resume", parked).code == 0


def test_p55_what_cannot_be_paused_is_told_in_one_sentence(flowx: Operator) -> None:
    assert "is it spelt right?" in flowx("pause", "no.such.flow").out
    assert flowx("unpause", "no.such.flow").code == 0
    for arguments, code, words in (
        (("pause",), 2, "give --all for everything"),
        (("pause", "visit.plan", "--all"), 2, "give --all for everything"),
        (("pause", str(uuid4())), 3, "has no instance"),
        (("unpause", "visit.plan"), 3, "visit.plan is not paused; what is: nothing"),
    ):
        answer = flowx(*arguments)
        assert (answer.code, answer.err.count("\n")) == (code, 1)
        assert words in answer.err


def test_p07_an_instance_that_cannot_go_on_is_seen_with_its_reason(flowx: Operator, dsn: str) -> None:
    parked = flowx.start("visit.plan")
    assert flowx("db", "status", "--json").json["stuck"] == 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "insert into flowx.flow_setback values (%s, 'instance.unreadable', 'a stored value is no Patient any more',"
            " 'worker/7', 3, clock_timestamp())",
            [parked],
        )
    assert "    cannot go on: instance.unreadable (`flowx inspect` says why)\n" in flowx("ps").out
    assert "stuck      1 that a node could not go on with" in flowx("db", "status").out
    found = flowx.inspect(parked)
    assert found["stands"][0].startswith(
        "worker/7 could not go on with it in 3 tries, the last 0 s ago, with instance."
    )
    assert (found["setback"]["code"], found["setback"]["times"]) == ("instance.unreadable", 3)
    flowx("signal", parked, "consent.given", "--data", json.dumps(CONSENT))
    assert flowx.inspect(parked)["setback"] is None
    assert "cannot go on" not in flowx("ps").out


@pytest.mark.parametrize("target", ["", "\udcff", "a\nb"])
def test_what_can_be_no_id_is_neither_paused_nor_unpaused(flowx: Operator, target: str) -> None:
    for verb in ("pause", "unpause"):
        refused = flowx(verb, target)
        assert refused.code == 2
        assert "flow" in refused.err
        assert "defect" not in refused.err
