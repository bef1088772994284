"""`flowx db`: migrate, status and prune."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from flowx_runtime.journal.postgres.migrating import migrations
from tests.cli.worker_scene import OFFER, Site, make_site


@pytest.fixture
def site(postgres_dsn: str, tmp_path: Path) -> Iterator[Site]:
    """A project on an empty database of its own."""
    name = f"db_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_site(tmp_path, make_conninfo(postgres_dsn, dbname=name))
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def test_a_database_is_made_ready_looked_at_and_cleared(site: Site) -> None:
    latest = len(migrations())
    behind = site.flowx("db", "status")
    assert (behind.returncode, behind.stdout) == (
        1,
        f"schema     version 0; this flowx needs {latest}: run `flowx db migrate`\n",
    )
    applied = site.flowx("db", "migrate").stdout.splitlines()
    assert applied[0] == "applied 0001 journal"
    assert len(applied) == latest
    assert json.loads(site.flowx("db", "migrate", "--json").stdout) == {"applied": []}
    assert site.flowx("db", "migrate").stdout == "nothing to apply: the schema is up to date\n"

    parked, ended = (
        json.loads(site.flowx("run", "offer.accept", "--input", OFFER, "--key", key, "--json").stdout)["instanceId"]
        for key in ("a", "b")
    )
    site.flowx("cancel", ended)
    site.rows("update flow_instance set wake_at = now() - interval '90 s' where instance_id = %s", parked)
    found = json.loads(site.flowx("db", "status", "--json").stdout)
    assert found["schemaVersion"] == found["neededVersion"] == latest
    assert found["instances"] == {"Cancelled": 1, "Suspended": 1}
    assert found["overdueSeconds"] >= 90
    assert found["leases"] == {"live": 0, "expired": 0}
    assert found["nodes"] == 0
    assert found["outbox"]["poisoned"] == 0
    text = site.flowx("db", "status").stdout
    assert "instances  1 Cancelled, 1 Suspended" in text
    assert "the oldest due is PT1M3" in text

    assert json.loads(site.flowx("db", "prune", "--older-than", "P1D", "--json").stdout)["instances"] == 0
    assert json.loads(site.flowx("db", "prune", "--older-than", "PT0S", "--state", "Failed", "--json").stdout) == {
        "instances": 0,
        "steps": 0,
        "events": 0,
        "deliveries": 0,
    }
    assert site.flowx("db", "prune", "--older-than", "PT0S").stdout.startswith("removed 1 instances with ")
    assert site.rows("select instance_id::text from flow_instance") == [(parked,)]


def test_what_cannot_be_done_says_why(site: Site, tmp_path: Path) -> None:
    assert "ISO-8601" in site.flowx("db", "prune", "--older-than", "30d").stderr
    assert site.flowx("db", "prune", "--older-than", "30d").returncode == 2
    assert site.flowx("db", "prune", "--older-than", "P30D", "--state", "Suspended").returncode == 2
    unready = site.flowx("db", "prune", "--older-than", "P30D")
    assert (unready.returncode, "run `flowx db migrate`" in unready.stderr) == (2, True)
    away = site.flowx("db", "status", "--dsn", f"postgresql:///x?host={tmp_path}", PGCONNECT_TIMEOUT="1")
    assert (away.returncode, "cannot be reached" in away.stderr) == (4, True)
    nowhere = Site(tmp_path, "")
    nowhere.environment.pop("FLOWX_DSN")
    asked = nowhere.flowx("db", "status")
    assert (asked.returncode, "name one with --dsn" in asked.stderr) == (2, True)
    assert "FLOWX_DSN" not in nowhere.environment or os.environ.get("FLOWX_DSN")


def test_a_duration_that_is_none_is_one_sentence(site: Site) -> None:
    for text in ("-P1D", "a month"):
        refused = site.flowx("db", "prune", "--older-than", text)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "ISO-8601" in refused.stderr
        assert "defect" not in refused.stderr


def test_a_database_that_takes_no_writes_is_one_sentence_and_a_current_one_needs_none(site: Site) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        only_read = sql.SQL("alter database {} set default_transaction_read_only = {}")
        connection.execute(only_read.format(sql.Identifier(site.name), sql.SQL("on")))
        refused = site.flowx("db", "migrate")
        assert refused.returncode == 4
        assert "read-only" in refused.stderr
        assert "defect" not in refused.stderr
        connection.execute("set default_transaction_read_only = off")
        connection.execute(only_read.format(sql.Identifier(site.name), sql.SQL("off")))
        assert site.flowx("db", "migrate").returncode == 0
        connection.execute("set default_transaction_read_only = off")
        connection.execute(only_read.format(sql.Identifier(site.name), sql.SQL("on")))
        assert site.flowx("db", "migrate").stdout == "nothing to apply: the schema is up to date\n"
        connection.execute("set default_transaction_read_only = off")


def test_a_user_without_rights_is_told_what_is_missing(site: Site) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create role {} login").format(sql.Identifier(site.name)))
        refused = site.flowx("db", "migrate", "--dsn", make_conninfo(site.dsn, user=site.name))
        assert refused.returncode == 2
        assert "permission denied" in refused.stderr
        assert "grant it" in refused.stderr
        assert "defect" not in refused.stderr
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(site.name)))
