"""What the seeds' transcripts show, from a real client over a real socket; ids and times aside."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, sql

from flowx_runtime.journal.records import State
from tests.http.conftest import PEOPLE_OPS, RECRUITER

OFFER = {"candidate_id": "c-42", "role": "staff-engineer", "site": "london"}
SIGNED = {"envelope_id": "env-ada", "signed_by": "ada.lovelace", "signed_at": "2026-08-01T13:40:15Z"}
HIRE = {
    "candidate_id": "c-1001",
    "employment": "permanent",
    "site": "london",
    "equipment": [{"item": "laptop-bag", "needs_approval": False}, {"item": "phone", "needs_approval": True}],
    "requires_background_check": False,
    "national_id": "NI-123-456",
}


async def test_an_offer_is_sent_signed_and_settled(serve: Any, postgres_dsn: str, schema: str) -> None:
    """Seed 004 §2: 202 with where to deliver, one row and no lease; 202 again; the timer goes on."""
    app = await serve("offers")
    sent = await app.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    assert sent.status_code == 202
    instance_id = sent.json()["instanceId"]
    at = f"/api/v1/offers/{instance_id}/signals/offer.countersigned"
    assert sent.headers["location"] == at
    assert sent.json() == {
        "instanceId": instance_id,
        "status": "suspended",
        "awaiting": [{"signal": "offer.countersigned", "deliverTo": at}],
    }
    with psycopg.connect(postgres_dsn) as connection:
        rows = connection.execute(
            f"select capability_id, step_id from {schema}.flow_step where instance_id = %s", [instance_id]
        ).fetchall()
    assert rows == [("offer.send", 0)]
    assert await app.journal.live_leases(UUID(instance_id)) == 0

    signed = await app.client.post(at, json=SIGNED, headers=RECRUITER)
    assert signed.status_code == 202
    assert signed.json() == {"instanceId": instance_id, "status": "suspended"}, "a clock is awaited, and nobody"
    again = await app.client.post(at, json=SIGNED, headers=RECRUITER)
    assert again.status_code == 202
    app.clock.advance(timedelta(days=1, seconds=1))
    await app.host.sweep_once()
    stands = await app.client.get(f"/api/v1/offers/{instance_id}", headers=RECRUITER)
    assert stands.json()["status"] == "completed"
    assert stands.json()["output"]["candidate_id"] == "c-42"
    late = await app.client.post(at, json=SIGNED, headers=RECRUITER)
    assert late.status_code == 409
    assert late.json()["code"] == "flow.instance_terminal"
    history = await app.journal.read(UUID(instance_id))
    assert history is not None
    assert [row.capability_id for row in history.rows] == [
        "offer.send",
        "offer.countersigned",
        "flow.delay",
        "onboarding.start",
    ]


async def test_an_offer_that_nobody_signs_is_withdrawn_by_the_clock(serve: Any) -> None:
    """Seed 004 §2: the other way out, with no second request at all."""
    app = await serve("offers")
    sent = await app.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    app.clock.advance(timedelta(days=7, seconds=1))
    await app.host.sweep_once()
    stands = await app.client.get(f"/api/v1/offers/{sent.json()['instanceId']}", headers=RECRUITER)
    assert stands.json()["status"] == "failed"
    assert stands.json()["error"]["code"] == "offer.not_countersigned"
    history = await app.journal.read(UUID(sent.json()["instanceId"]))
    assert history is not None
    assert history.rows[-1].capability_id == "offer.withdraw"


async def test_somebody_is_onboarded_and_the_answer_is_the_output(serve: Any) -> None:
    """Seed 004 §5."""
    app = await serve("workflow")
    done = await app.client.post("/api/v1/onboarding", json=HIRE, headers=PEOPLE_OPS | {"Idempotency-Key": "run-001"})
    assert done.status_code == 200
    assert done.json() == {"employee_id": "c-1001", "equipment_issued": 2}
    again = await app.client.post("/api/v1/onboarding", json=HIRE, headers=PEOPLE_OPS | {"Idempotency-Key": "run-001"})
    assert (again.status_code, again.json()) == (200, done.json())


async def test_the_rejection_arm_is_a_problem(serve: Any) -> None:
    """Seed 004 §5: RFC 9457, category to status, the flow's own code."""
    app = await serve("workflow")
    refused = await app.client.post(
        "/api/v1/onboarding",
        json=HIRE | {"employment": "intern"},
        headers=PEOPLE_OPS | {"Idempotency-Key": "run-002", "X-Correlation-Id": "0HNNFEHCVV8PE:00000001"},
    )
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json() == {
        "type": "urn:flowx:error:onboarding.unsupported_employment",
        "title": "The request is not valid",
        "status": 400,
        "detail": "This flow onboards permanent employees and contractors only.",
        "code": "onboarding.unsupported_employment",
        "correlationId": "0HNNFEHCVV8PE:00000001",
    }


async def test_what_a_node_of_another_version_has_completed_is_answered_all_the_same(
    serve: Any, postgres_dsn: str, schema: str
) -> None:
    app = await serve("workflow")
    headers = PEOPLE_OPS | {"Idempotency-Key": "run-003"}
    done = await app.client.post("/api/v1/onboarding", json=HIRE, headers=headers)
    assert done.status_code == 200
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
        table = sql.Identifier(schema, "flow_instance")
        await connection.execute(sql.SQL("update {} set flow_version = '9.0.0'").format(table))
    again = await app.client.post("/api/v1/onboarding", json=HIRE, headers=headers)
    assert (again.status_code, again.json()) == (200, done.json())


async def test_a_document_waits_as_one_row_and_its_key_is_needed(serve: Any) -> None:
    """Seed 000 §4: 202 while the provider reads; the same key again is the same instance."""
    app = await serve("polling", authenticate=_intake)
    document = {"document_id": "doc-1", "content_type": "application/pdf", "pages": 1200}
    first = await app.client.post("/api/v1/documents", json=document, headers={"Idempotency-Key": "doc-001"})
    assert first.status_code == 202
    again = await app.client.post("/api/v1/documents", json=document, headers={"Idempotency-Key": "doc-001"})
    assert again.json()["instanceId"] == first.json()["instanceId"]
    history = await app.journal.read(UUID(first.json()["instanceId"]))
    assert history is not None
    assert history.instance.state is State.SUSPENDED
    assert [(wait.step_id, wait.scope) for wait in history.instance.waits] == [(1, "0")]
    without = await app.client.post("/api/v1/documents", json=document)
    assert without.status_code == 400
    assert without.json()["code"] == "request.idempotency_key"


async def _intake(request: Any) -> Any:
    from flowx_runtime import Principal

    return Principal("intake", frozenset({"documents.write"}))
