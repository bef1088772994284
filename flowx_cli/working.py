"""Runs a node of a project until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flowx_cli.building import configured
from flowx_cli.database import Database, database
from flowx_cli.health import Health, Readiness
from flowx_cli.project import load_capabilities, load_catalog, load_key_ring, load_publisher
from flowx_cli.serving import serving
from flowx_compiler.config import Config, find_pyproject
from flowx_compiler.errors import UsageProblem
from flowx_runtime import FlowHost, PostgresJournal, Publisher, Publishing
from flowx_runtime.plan import Catalog, Emit
from flowx_runtime.telemetry.contract import Telemetry

_LOG = logging.getLogger("flowx.worker")

_PUBLISHING: Final = Publishing(interval=timedelta(seconds=10))
"""Nodes that publish nothing say when they have staged events, so that an idle worker asks rarely."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker was asked to do."""

    plans: str | None
    """The package of plans; `None`: the one of the project in this folder."""
    dsn: str | None
    direct_dsn: str | None
    """Where to hear of other nodes, if the database is reached through a pooler."""
    concurrency: int
    drain: timedelta
    health_port: int | None
    """`None`: answers nobody."""
    http_port: int | None = None
    """`None`: serves no flow."""


async def work(order: Order) -> None:
    """Be a node until SIGTERM or SIGINT, then let what is under way park or end; a second signal ends that too.

    Raises:
        UsageProblem: no plans are named, or the folder has several applications.
        FlowxError: the project is not built, the store unreachable, or its schema is not this version's.
    """
    config = _config(order.plans)
    catalog = load_catalog(config)
    publisher = load_publisher(config)
    stopping = asyncio.Event()
    with database(order.dsn, data=config.root / ".flowx" / "postgres") as server:
        # An embedded server is this project's own; another one may have nodes of an earlier version at work.
        journal = await PostgresJournal.open(server.dsn, migrate=server.is_embedded, direct_dsn=order.direct_dsn)
        host = FlowHost(
            catalog,
            load_capabilities(config),
            key_ring=load_key_ring(config),
            journal=journal,
            concurrency=order.concurrency,
            drain=order.drain,
            publisher=publisher,
            publishing=_PUBLISHING,
            telemetry=_telemetry(),
        )
        _stop_by_signal(stopping)
        readiness = Readiness(journal.now, lambda: not stopping.is_set())
        async with (
            _health(order.health_port, readiness) as port,
            host,
            serving(host, config, order.http_port) as http_port,
        ):
            is_known = config.authenticator is not None
            _LOG.info("%s", _said_of(catalog, server, publisher, port, http_port, is_known=is_known))
            await stopping.wait()
            _LOG.info("stopping: nothing new is taken, and what is under way parks or ends")
            await host.close()  # before the server, which waits for requests, and they for what the host runs
        _LOG.info("stopped")


def _telemetry() -> Telemetry | None:
    """OpenTelemetry where it is installed: what is exported, and where to, the process's own set-up says."""
    if find_spec("opentelemetry") is None:
        return None
    from flowx_runtime.telemetry.opentelemetry import OpenTelemetry

    return OpenTelemetry()


@asynccontextmanager
async def _health(port: int | None, readiness: Readiness) -> AsyncIterator[int | None]:
    if port is None:
        yield None
        return
    async with Health(port, readiness) as health:
        yield health.port


def _config(plans: str | None) -> Config:
    """The project's configuration, with the package of plans that was named; a package alone needs no project."""
    if plans is not None and find_pyproject(Path()) is None:
        return Config(root=Path.cwd(), sources=(), plans=plans)
    applications = configured(Path())
    if plans is None:
        config, *others = applications
        if others:
            raise UsageProblem("this project has several applications: name the plans of one with --plans")
        return config
    for config in applications:
        if config.plans == plans:
            return config
    return replace(applications[0], plans=plans)


def _stop_by_signal(stopping: asyncio.Event) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if stopping.is_set():
            task.cancel()
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # on Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def _said_of(
    catalog: Catalog,
    server: Database,
    publisher: Publisher | None,
    port: int | None,
    http_port: int | None,
    *,
    is_known: bool,
) -> str:
    """What this node runs, in one line. Schedules say themselves when they fire next."""
    flows = ", ".join(f"{entry.flow_id} {entry.version}" for entry in catalog) or "no flow"
    stages = any(
        isinstance(node, Emit) for entry in catalog for node in catalog.plan(entry.flow_id, entry.version).nodes
    )
    parts = [f"runs {flows}", "on an embedded PostgreSQL" if server.is_embedded else "on the PostgreSQL that was named"]
    if publisher is not None:
        parts.append(f"publishes by {type(publisher).__name__}")
    elif stages:
        parts.append("publishes nothing (its events stay staged until [tool.flowx] names a `publisher`)")
    if http_port is not None:
        to = "" if is_known else " to anonymous callers alone (no `authenticator` in [tool.flowx])"
        parts.append(f"serves HTTP on port {http_port}{to}")
    if port is not None:
        parts.append(f"answers /healthz and /readyz on port {port}")
    return "; ".join(parts)
