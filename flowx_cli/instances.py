"""Opens a host on the project in this folder, for verbs that work on an instance that is there already."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from flowx_cli.building import configured
from flowx_cli.database import database
from flowx_cli.project import load_capabilities, load_catalog
from flowx_cli.running import Ran
from flowx_compiler.errors import UsageProblem
from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.engine.replay import Replayed

T = TypeVar("T")


async def on_host(dsn: str | None, work: Callable[[FlowHost], Awaitable[T]]) -> T:
    """Do something with a host that goes on with nothing by itself.

    Raises:
        UsageProblem: the folder has several applications.
        FlowxError: the project is not built, the store unreachable, or the work refused.
    """
    config, *others = configured(Path())
    if others:
        raise UsageProblem("this project has several applications: run from a folder with one")
    catalog = load_catalog(config)
    with database(dsn, data=config.root / ".flowx" / "postgres") as server:
        journal = await PostgresJournal.open(server.dsn)
        host = FlowHost(catalog, load_capabilities(config), journal=journal, sweep_interval=None)
        async with host:
            return await work(host)


async def cancel(instance_id: UUID, reason: str, *, dsn: str | None) -> Ran:
    """Cancel an instance; gives how it then stands, with its rows."""

    async def cancelled(host: FlowHost) -> Ran:
        return Ran(await host.cancel(instance_id, reason), await host.inspect(instance_id))

    return await on_host(dsn, cancelled)


async def resume(instance_id: UUID, *, dsn: str | None) -> Ran:
    """Go on with an instance now, if nobody else does; gives how it then stands, with its rows."""

    async def resumed(host: FlowHost) -> Ran:
        return Ran(await host.resume(instance_id), await host.inspect(instance_id))

    return await on_host(dsn, resumed)


async def retry(instance_id: UUID, by: str, *, dsn: str | None) -> Ran:
    """Try again what of an instance failed; gives how it then stands, with its rows."""

    async def retried(host: FlowHost) -> Ran:
        return Ran(await host.retry(instance_id, by), await host.inspect(instance_id))

    return await on_host(dsn, retried)


async def replay(instance_id: UUID, *, dsn: str | None) -> Replayed:
    """Walk an instance's history again."""

    async def replayed(host: FlowHost) -> Replayed:
        return await host.replay(instance_id)

    return await on_host(dsn, replayed)


def replayed_as_json(replayed: Replayed) -> str:
    """One JSON document."""
    document: dict[str, object] = {
        "instanceId": str(replayed.instance_id),
        "same": replayed.is_same,
        "rows": replayed.rows,
    }
    difference = replayed.difference
    if difference is not None:
        document["difference"] = {
            "scope": difference.scope,
            "step": difference.step_id,
            "recorded": difference.recorded,
            "today": difference.today,
        }
    return json.dumps(document, indent=2)


def replayed_as_text(replayed: Replayed) -> str:
    """One sentence for a person."""
    if replayed.difference is None:
        return f"same path: today's plan passes all {replayed.rows} rows of {replayed.instance_id}"
    return f"different path, at {replayed.difference}"
