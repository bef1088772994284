"""What a stranger's request may bring about: a refusal that quotes nothing, and no instance."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Literal

import httpx
import pytest
from pydantic import AfterValidator, Field, model_validator
from starlette.requests import Request

from flowx_runtime import (
    Authenticated,
    Authorization,
    Contract,
    FlowHost,
    Internal,
    MemoryJournal,
    Principal,
    Profile,
    Public,
    StepContext,
    capability,
    signal,
)
from flowx_runtime.http import BearerTokens, create_app
from flowx_runtime.journal.records import Filter
from flowx_runtime.plan import FORMAT, AwaitSignal, Branch, CapabilityUse, Plan, SignalUse, Step
from flowx_runtime.plan.routes import Route
from tests.http.test_refusals import is_problem

CANARY = "canary4111"
ADA = {"Authorization": "Bearer ada"}
OPEN = Public(approved_by="Grace")


def _picky(value: str) -> str:
    if value == CANARY:
        raise RuntimeError(f"no {value}")
    return value


class Dog(Contract):
    kind: Literal["dog"]


class Cat(Contract):
    kind: Literal["cat"]


class Ask(Contract):
    name: Annotated[str, AfterValidator(_picky)] = ""
    number: float = 0
    counts: dict[str, int] = Field(default_factory=dict)
    pet: Annotated[Dog | Cat, Field(discriminator="kind")] | None = None

    @model_validator(mode="after")
    def agrees(self) -> Ask:
        if self.number == 13:
            raise KeyError(CANARY)
        return self


@signal("stranger.told")
class Told(Contract):
    number: float


def use(id: str, stance: Authorization) -> CapabilityUse:
    async def body(request: Ask, ctx: StepContext) -> None: ...

    declared = capability(id, version="1.0.0", authorization=stance, idempotent=True)(body)
    return CapabilityUse(declared, id, "1.0.0", Ask, None, idempotent=True)


def plan(name: str, *nodes: Any) -> Plan[Any, Any]:
    return Plan(
        format=FORMAT,
        flow_id=f"stranger.{name}",
        version="1.0.0",
        digest="d1",
        profile=Profile.DURABLE,
        input=Ask,
        output=None,
        nodes=nodes,
        routes=(Route(method="POST", path=f"/{name}"),),
    )


WAIT = AwaitSignal(1, "told", SignalUse(Told, "stranger.told"), timedelta(days=1))
PLANS = [
    plan("open", Step(0, "a", use("a.open", OPEN)), WAIT),
    plan("internal", Step(0, "a", use("a.internal", Internal()))),
    plan("signed", Step(0, "a", use("a.signed", Authenticated()))),
    plan("branch", Branch(0, lambda ctx: False, 2), Step(1, "a", use("b.internal", Internal()))),
    plan("openbranch", Branch(0, lambda ctx: False, 2), Step(1, "a", use("b.open", OPEN))),
    plan("none", replace(WAIT, index=0)),
]


@pytest.fixture
async def host() -> AsyncIterator[FlowHost]:
    async with FlowHost(PLANS, journal=MemoryJournal(), sweep_interval=None) as host:
        yield host


def client(host: FlowHost, **options: Any) -> httpx.AsyncClient:
    tokens = BearerTokens({"ada": Principal("ada")})
    app = create_app(host, **({"authenticate": tokens} | options))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://x", headers={"Content-Type": "application/json"})


async def instances(host: FlowHost) -> int:
    return len(await host._any_journal().find(Filter()))


@pytest.mark.parametrize(
    ("name", "is_open"),
    [("open", True), ("internal", False), ("signed", False), ("branch", False), ("openbranch", True), ("none", False)],
)
async def test_a_stranger_starts_only_what_begins_with_a_public_step(host: FlowHost, name: str, is_open: bool) -> None:
    async with client(host) as at:
        answer = await at.post(f"/{name}", content=b"{}")
        if is_open:
            assert answer.status_code in (200, 202)
        else:
            is_problem(answer, 401, "authorization.not_authenticated")
            assert await instances(host) == 0
        assert (await at.post(f"/{name}", content=b"{}", headers=ADA)).status_code in (200, 202)
        found = (await host._any_journal().find(Filter()))[0].instance_id
        looked = await at.get(f"/{name}/{found}")
        assert (looked.status_code == 401) is not is_open


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"number": 1e999}', "request.malformed"),
        (b'{"number": -1e999}', "request.malformed"),
        (b'{"number": NaN}', "request.malformed"),
        (b'{"number": -Infinity}', "request.malformed"),
        (b'{"counts": {"a": Infinity}}', "request.malformed"),
        (b'{"number": "inf"}', "flow.value_not_kept"),
        (b'{"name": "canary4111"}', "request.invalid"),
        (b'{"number": 13}', "request.invalid"),
        (b'{"counts": {"canary4111": "x"}}', "request.invalid"),
        (b'{"canary4111": 1}', "request.invalid"),
        (b'{"pet": {"kind": "canary4111"}}', "request.invalid"),
    ],
)
async def test_a_body_is_refused_and_not_quoted(
    host: FlowHost, caplog: pytest.LogCaptureFixture, content: bytes, code: str
) -> None:
    async with client(host) as at:
        answer = await at.post("/open", content=content)
    is_problem(answer, 400, code)
    assert CANARY not in answer.text
    assert CANARY not in caplog.text
    assert await instances(host) == 0


async def test_a_place_names_members_and_indices_only(host: FlowHost) -> None:
    async with client(host) as at:
        answer = await at.post("/open", json={"counts": {"k": "x"}, "odd": 1, "pet": {"kind": "dog", "odd": 1}})
    fields = {item["field"] for item in is_problem(answer, 400, "request.invalid")["errors"]}
    assert fields == {"/counts/…", "/…", "/pet/…/…"}


async def test_a_signal_that_would_not_come_back_is_refused_and_the_instance_goes_on(host: FlowHost) -> None:
    async with client(host) as at:
        started = await at.post("/open", content=b"{}")
        to = started.json()["awaiting"][0]["deliverTo"]
        is_problem(await at.post(to, content=b'{"number": "nan"}'), 400, "flow.value_not_kept")
        answer = await at.post(to, content=b'{"number": 1}')
    assert (answer.status_code, answer.json()["status"]) == (202, "completed")


async def test_an_authenticator_that_fails_is_our_failure_and_is_not_quoted(
    host: FlowHost, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: Request) -> Principal | None:
        raise RuntimeError(CANARY)

    with caplog.at_level(logging.DEBUG):
        async with client(host, authenticate=broken) as at:
            answer = await at.post("/open", content=b"{}")
    is_problem(answer, 500, "http.unexpected")
    assert "RuntimeError" in caplog.text
    assert CANARY not in answer.text + caplog.text


async def test_a_slash_more_is_another_path_and_an_empty_manifest_describes_no_bodies(host: FlowHost) -> None:
    async with client(host, manifest={}) as at:
        is_problem(await at.post("/open/", content=b"{}"), 404, "request.no_route")
        described = await at.get("/openapi.json")
    assert described.json()["info"]["title"] == "flowx"
