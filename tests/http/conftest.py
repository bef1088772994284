"""Applications on real sockets, over hosts whose clock a test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from offers.app import capabilities as offers_capabilities
from offers.plans import CATALOG as OFFERS
from polling.app import capabilities as polling_capabilities
from polling.plans import CATALOG as POLLING
from workflow.app import capabilities as workflow_capabilities
from workflow.callers import DEMONSTRATION_CALLERS
from workflow.plans import CATALOG as WORKFLOW

from flowx_runtime import FlowHost, KeyRing, PostgresJournal
from flowx_runtime.http import create_app
from flowx_runtime.journal.contract import Journal
from flowx_runtime.plan import Catalog

EXAMPLES = Path(__file__).parents[2] / "examples"
APPLICATIONS: dict[str, tuple[Catalog, Callable[[], list[object]]]] = {
    "offers": (OFFERS, offers_capabilities),
    "polling": (POLLING, polling_capabilities),
    "workflow": (WORKFLOW, workflow_capabilities),
}
RECRUITER = {"Authorization": "Bearer recruiter-token"}
PEOPLE_OPS = {"Authorization": "Bearer people-ops-token"}


class Clock:
    """Goes on by itself from where a test has moved it."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def advance(self, by: timedelta) -> None:
        self._ahead += by


@dataclass
class Served:
    """One application that is being served."""

    client: httpx.AsyncClient
    host: FlowHost
    journal: Journal
    clock: Clock
    manifest: dict[str, Any]
    base: str


def manifest_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / name / "flowx.manifest.json").read_text("utf-8"))
    return found


@asynccontextmanager
async def serving(
    journal: Journal, name: str, *, host: FlowHost | None = None, clock: Clock | None = None, **options: Any
) -> AsyncIterator[Served]:
    """Serve an example on a port of the machine."""
    catalog, capabilities = APPLICATIONS[name]
    clock = clock or Clock()
    ring = KeyRing({"k": b"k" * 32}, current="k")
    host = host or FlowHost(catalog, capabilities(), journal=journal, clock=clock, sweep_interval=None, key_ring=ring)
    app = create_app(host, manifest=manifest_of(name), **({"authenticate": DEMONSTRATION_CALLERS} | options))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110  it says so by a flag alone
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=base, timeout=30) as client:
        yield Served(client, host, journal, clock, manifest_of(name), base)
    server.should_exit = True
    await serving


@pytest.fixture
async def serve(postgres_dsn: str, schema: str) -> AsyncIterator[Callable[..., Awaitable[Served]]]:
    async with AsyncExitStack() as stack:
        journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4)
        stack.push_async_callback(journal.close)

        async def begin(name: str, **options: Any) -> Served:
            return await stack.enter_async_context(serving(journal, name, **options))

        yield begin
