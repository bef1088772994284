"""A value that nobody may read: searched for in everything that whole runs write."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
import pytest
from psycopg import sql

from flowx_runtime import FlowHost, JsonlPublisher
from flowx_runtime.journal.records import Filter
from tests.http.conftest import PEOPLE_OPS, WORKFLOW, Clock, workflow_capabilities
from tests.http.test_transcripts import HIRE

CANARY = "CANARY-71c9"


def everything(dsn: str, schema: str) -> str:
    """Every row of every table of a schema, as text."""
    told = []
    with psycopg.connect(dsn) as connection:
        tables = connection.execute("select tablename from pg_tables where schemaname = %s", [schema]).fetchall()
        assert len(tables) > 8
        for (table,) in tables:
            query = sql.SQL("select t::text from {}.{} t").format(sql.Identifier(schema), sql.Identifier(table))
            told += [row for (row,) in connection.execute(query)]
    return "\n".join(told)


@pytest.mark.parametrize("key_ring", [True, False], ids=["sealed", "redacted"])
@pytest.mark.parametrize("employment", ["permanent", "intern"])
async def test_what_is_sensitive_is_nowhere(
    serve: Any,
    postgres_dsn: str,
    schema: str,
    tmp_path: Any,
    caplog: pytest.LogCaptureFixture,
    key_ring: bool,
    employment: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    events = tmp_path / "events.jsonl"
    app = await serve("workflow")
    host = app.host
    if not key_ring:
        host = FlowHost(
            WORKFLOW,
            workflow_capabilities(),
            journal=app.journal,
            clock=Clock(),
            sweep_interval=None,
            publisher=JsonlPublisher(events),
        )
        app = await serve("workflow", host=host)
    body = HIRE | {"national_id": CANARY, "employment": employment}
    told = []
    for key, given in (("a", body), ("b", body | {"site": 7}), ("a", body | {"site": "paris"})):
        headers = PEOPLE_OPS | {"Idempotency-Key": key}
        answer = await app.client.post("/api/v1/onboarding", json=given, headers=headers)
        told.append(answer.text + str(answer.headers))
        found = answer.headers.get("location")
        if found:
            told.append((await app.client.get(found, headers=PEOPLE_OPS)).text)
    paths = [f"/api/v1/onboarding/{row.instance_id}" for row in await app.journal.find(Filter())]
    told += [(await app.client.get(path, headers=PEOPLE_OPS)).text for path in (*paths, "/openapi.json")]
    if not key_ring:
        published = await host.publish_once()
        assert (published > 0) is (employment == "permanent")
    told += [events.read_text() if events.exists() else "", everything(postgres_dsn, schema), caplog.text]
    assert any("c-1001" in text for text in told), "the search would find what is there"
    for text in told:
        assert CANARY not in text
