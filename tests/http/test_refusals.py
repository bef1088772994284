"""Requests that are wrong in every way: the designed answer, one sentence, nothing quoted, nothing lost."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.http.conftest import PEOPLE_OPS, RECRUITER, Served
from tests.http.test_transcripts import HIRE, OFFER, SIGNED

KEY = {"Idempotency-Key": "k-1"}


def is_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    document: dict[str, Any] = answer.json()
    assert document["code"] == code
    assert document["status"] == status
    assert document["detail"]
    return document


async def instances(app: Served) -> int:
    from flowx_runtime.journal.records import Filter

    return len(await app.journal.find(Filter()))


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", {}, 400, "request.malformed"),
        (b"", {}, 400, "request.malformed"),
        (b"\xff\xfe", {}, 400, "request.malformed"),
        (b"[" * 100_000, {}, 400, "request.malformed"),
        (b"null", {}, 400, "request.invalid"),
        (b"[]", {}, 400, "request.invalid"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "request.media_type"),
        (b"{}", {"Content-Type": ""}, 415, "request.media_type"),
        (b" " * 2_000_000, {}, 413, "request.too_large"),
    ],
)
async def test_a_body_that_cannot_be_read(
    serve: Any, content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    app = await serve("offers")
    given = {"Content-Type": "application/json"} | RECRUITER | headers
    is_problem(await app.client.post("/api/v1/offers", content=content, headers=given), status, code)
    assert await instances(app) == 0


async def test_a_body_without_a_length_is_cut_off_as_well(serve: Any) -> None:
    app = await serve("offers")

    async def endless() -> Any:
        for _ in range(100):
            yield b" " * 50_000

    headers = RECRUITER | {"Content-Type": "application/json"}
    is_problem(await app.client.post("/api/v1/offers", content=endless(), headers=headers), 413, "request.too_large")


async def test_a_wrong_member_is_named_and_not_quoted(serve: Any) -> None:
    app = await serve("workflow")
    wrong = HIRE | {"equipment": [{"item": 7, "needs_approval": "canary-1"}], "national_id": ["canary-2"], "more": 1}
    answer = await app.client.post("/api/v1/onboarding", json=wrong, headers=PEOPLE_OPS | KEY)
    document = is_problem(answer, 400, "request.invalid")
    assert {item["field"] for item in document["errors"]} == {
        "/equipment/0/item",
        "/equipment/0/needs_approval",
        "/national_id",
        "/…",
    }
    assert "canary" not in answer.text


async def test_text_that_is_no_text_is_refused_and_odd_text_is_kept(serve: Any) -> None:
    app = await serve("offers")
    headers = RECRUITER | {"Content-Type": "application/json"}
    half = json.dumps(OFFER | {"role": "\ud800"}).encode()
    is_problem(await app.client.post("/api/v1/offers", content=half, headers=headers), 400, "request.malformed")
    assert await instances(app) == 0
    odd = await app.client.post("/api/v1/offers", json=OFFER | {"role": "a\x00b\u202e"}, headers=headers)
    assert odd.status_code == 202
    signed = await app.client.post(odd.headers["location"], json=SIGNED, headers=RECRUITER)
    assert signed.status_code == 202


async def test_wrong_methods_paths_and_ids(serve: Any) -> None:
    app = await serve("offers")
    wrong = await app.client.get("/api/v1/offers", headers=RECRUITER)
    is_problem(wrong, 405, "request.method")
    assert "POST" in wrong.headers["allow"]
    is_problem(await app.client.get("/nowhere"), 404, "request.no_route")
    for id in ("no-uuid", str(uuid4()), "a%00b"):
        is_problem(await app.client.get(f"/api/v1/offers/{id}", headers=RECRUITER), 404, "flow.unknown_instance")
        at = f"/api/v1/offers/{id}/signals/offer.countersigned"
        is_problem(await app.client.post(at, json=SIGNED, headers=RECRUITER), 404, "flow.unknown_instance")
    sent = await app.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    at = f"/api/v1/offers/{sent.json()['instanceId']}/signals/offer.withdrawn"
    is_problem(await app.client.post(at, json=SIGNED, headers=RECRUITER), 404, "request.no_route")


async def test_an_instance_of_another_flow_is_not_there(serve: Any) -> None:
    offers, workflow = await serve("offers"), await serve("workflow")
    sent = await offers.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    found = await workflow.client.get(f"/api/v1/onboarding/{sent.json()['instanceId']}", headers=PEOPLE_OPS)
    is_problem(found, 404, "flow.unknown_instance")


async def test_a_key_belongs_to_its_caller_and_to_one_request(serve: Any) -> None:
    app = await serve("workflow")
    missing = await app.client.post("/api/v1/onboarding", json=HIRE, headers=PEOPLE_OPS)
    is_problem(missing, 400, "request.idempotency_key")
    for key in ("", "x" * 201, "a b"):
        bad = await app.client.post("/api/v1/onboarding", json=HIRE, headers=PEOPLE_OPS | {"Idempotency-Key": key})
        is_problem(bad, 400, "request.idempotency_key")
    first = await app.client.post("/api/v1/onboarding", json=HIRE, headers=PEOPLE_OPS | KEY)
    assert first.status_code == 200
    other = HIRE | {"candidate_id": "c-2"}
    is_problem(
        await app.client.post("/api/v1/onboarding", json=other, headers=PEOPLE_OPS | KEY),
        409,
        "flow.idempotency_conflict",
    )


async def test_a_correlation_id_is_kept_when_it_is_harmless(serve: Any) -> None:
    app = await serve("offers")
    for given, is_kept in (("trace-7", True), ("x" * 129, False), ("a<b", False)):
        answer = await app.client.get("/nowhere", headers={"X-Correlation-Id": given})
        assert (answer.json()["correlationId"] == given) is is_kept


async def test_a_server_that_is_gone_is_503_and_nothing_is_lost(serve: Any) -> None:
    from flowx_runtime.journal.contract import JournalUnavailable

    app = await serve("offers")

    async def gone(*_: Any, **__: Any) -> Any:
        raise JournalUnavailable("the database cannot be reached: try again later")

    app.host._journal.start = gone
    answer = await app.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    is_problem(answer, 503, "journal.unavailable")
    assert int(answer.headers["retry-after"]) > 0


async def test_a_failure_of_our_own_says_no_more_than_its_code(serve: Any) -> None:
    app = await serve("offers")

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("canary")

    app.host._journal.start = broken
    answer = await app.client.post("/api/v1/offers", json=OFFER, headers=RECRUITER)
    is_problem(answer, 500, "http.unexpected")
    assert "canary" not in answer.text
