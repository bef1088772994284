"""No request without the right principal reaches a capability: for every route and permission of the manifests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowx_runtime import Anonymous, FlowHost, KeyRing, Principal
from flowx_runtime.host.given import checked_text
from flowx_runtime.http.endpoints import whose
from tests.http.conftest import APPLICATIONS, Clock, manifest_of
from tests.http.test_transcripts import HIRE, OFFER

DOCUMENT = {"document_id": "d", "content_type": "application/pdf", "pages": 1}
BODIES: dict[str, Any] = {"/api/v1/offers": OFFER, "/api/v1/onboarding": HIRE, "/api/v1/documents": DOCUMENT}
KEY = {"Idempotency-Key": "k"}


def routes(name: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (trigger["route"], flow)
        for flow in manifest_of(name)["flows"]
        for trigger in flow.get("triggers", ())
        if trigger["kind"] == "Http"
    ]


def needed(name: str, flow_id: str) -> dict[str, str]:
    """The permission that each capability of a flow needs, by capability; what is only an undo needs none."""
    return {
        capability["id"]: capability["authorization"]["value"]
        for capability in manifest_of(name)["capabilities"]
        if capability["authorization"]["mode"] == "Permission" and flow_id in capability["usedBy"]
    }


CASES = [(name, route, flow["id"]) for name in APPLICATIONS for route, flow in routes(name)]


class Spy:
    """Writes down which capabilities a host calls."""

    def __init__(self, name: str) -> None:
        self.called: list[str] = []
        self._name = name

    def host(self, journal: Any) -> FlowHost:
        catalog, capabilities = APPLICATIONS[self._name]
        host = FlowHost(
            catalog,
            capabilities(),
            journal=journal,
            clock=Clock(),
            sweep_interval=None,
            key_ring=KeyRing({"k": b"k" * 32}, current="k"),
        )
        calls = host._engine._guards._capabilities
        bound = calls.call

        def call(use: Any) -> Any:
            inner = bound(use)

            async def called(request: Any, context: Any) -> Any:
                self.called.append(use.id)
                return await inner(request, context)

            return called

        calls.call = call  # type: ignore[method-assign]
        return host


@pytest.mark.parametrize(("name", "route", "flow_id"), CASES)
async def test_nobody_whom_nobody_knows_reaches_anything(serve: Any, name: str, route: str, flow_id: str) -> None:
    from flowx_runtime import MemoryJournal

    spy = Spy(name)
    app = await serve(name, host=spy.host(MemoryJournal()))
    for headers in ({}, {"Authorization": "Bearer made-up"}, {"Authorization": "Basic cmVjcnVpdGVyLXRva2Vu"}):
        answer = await app.client.post(route, json=BODIES[route], headers=KEY | headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["code"] == "authorization.not_authenticated"
        deliveries = (f"{route}/x/signals/{signal['id']}" for signal in app.manifest["signals"])
        for path in (f"{route}/x", *deliveries):
            method = app.client.post if "signals" in path else app.client.get
            assert (await method(path, headers=headers)).status_code in (401, 404)
    assert spy.called == []


@pytest.mark.parametrize(
    ("name", "route", "flow_id", "capability", "permission"),
    [(*case, *item) for case in CASES for item in needed(case[0], case[2]).items()],
)
async def test_a_capability_is_not_reached_without_its_permission(
    serve: Any, name: str, route: str, flow_id: str, capability: str, permission: str
) -> None:
    from flowx_runtime import MemoryJournal

    every = frozenset(needed(name, flow_id).values())
    spy = Spy(name)
    lacking = Principal("somebody", every - {permission})

    async def authenticate(request: Any) -> Principal:
        return lacking

    app = await serve(name, host=spy.host(MemoryJournal()), authenticate=authenticate)
    for body in _variants(BODIES[route]):
        answer = await app.client.post(route, json=body, headers={"Idempotency-Key": repr(body)[:50].replace(" ", "")})
        if answer.status_code == 403:
            assert answer.json()["code"] == "authorization.permission_denied"
            assert "somebody" not in answer.text
        assert capability not in spy.called


def _variants(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The body, and one for each way through the flow that it chooses."""
    if "employment" not in body:
        return [body]
    return [body | {"employment": value} for value in ("permanent", "contractor")]


def test_every_permission_of_the_example_is_judged_somewhere() -> None:
    held = {permission for name, _, flow_id in CASES for permission in needed(name, flow_id).values()}
    assert held == {
        *("payroll.write", "suppliers.write", "identity.write", "hardware.write", "access.write", "equipment.write"),
        "documents.write",
    }


async def test_somebody_signed_in_is_told_what_they_lack_and_not_who_they_are(serve: Any) -> None:
    app = await serve("workflow")
    headers = {"Authorization": "Bearer recruiter-token"} | KEY
    answer = await app.client.post("/api/v1/onboarding", json=HIRE, headers=headers)
    assert answer.status_code == 403
    assert "'payroll.write'" in answer.json()["detail"]
    assert "recruiter" not in answer.text


@given(st.text(max_size=300), st.text(max_size=300), st.text("/%ab", max_size=6), st.text("/%ab", max_size=6))
@example("a", "a/b", "b/k", "k")
@example("a", "a%2Fb", "b/k", "k")
def test_no_two_callers_have_one_key(name: str, other: str, key: str, another: str) -> None:
    mine, theirs = (whose(Principal(each, frozenset())) for each in (name, other))
    checked_text("idempotency key", f"{mine}/{'k' * 200}")
    assert (f"{mine}/{key}" == f"{theirs}/{another}") == ((name, key) == (other, another))
    assert not mine.startswith("anonymous")
    assert whose(Anonymous()) == "anonymous"
