"""Opens a host on the project in this folder, for verbs that work on an instance that is there already."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from flowx_cli.building import configured
from flowx_cli.database import database
from flowx_cli.project import load_capabilities, load_catalog, load_key_ring
from flowx_cli.running import Ran
from flowx_compiler.config import Config
from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.engine.replay import Replayed
from flowx_runtime.host.errors import UnknownInstance
from flowx_runtime.journal.contract import Journal
from flowx_runtime.plan.catalog import UnknownPlan

T = TypeVar("T")


async def on_host(dsn: str | None, instance_id: UUID, work: Callable[[FlowHost], Awaitable[T]]) -> T:
    """Do something to an instance with a host, of the application it belongs to, that goes on with nothing by itself.

    Raises:
        FlowxError: the project is not built, the store unreachable, or the work refused.
    """
    configs = configured(Path())
    with database(dsn, data=configs[0].root / ".flowx" / "postgres") as server:
        journal = await PostgresJournal.open(server.dsn)
        try:
            config = configs[0] if len(configs) == 1 else await _application(configs, journal, instance_id)
            catalog, capabilities, key_ring = load_catalog(config), load_capabilities(config), load_key_ring(config)
            host = FlowHost(catalog, capabilities, journal=journal, sweep_interval=None, key_ring=key_ring)
        except BaseException:
            await journal.close()
            raise
        async with host:
            return await work(host)


async def _application(configs: Sequence[Config], journal: Journal, instance_id: UUID) -> Config:
    """The application whose flow an instance is of."""
    history = await journal.read(instance_id)
    if history is None:
        raise UnknownInstance(f"the journal has no instance {instance_id}")
    flow_id = history.instance.flow_id
    for config in configs:
        if any(entry.flow_id == flow_id for entry in load_catalog(config)):
            return config
    raise UnknownPlan(f"no application of this project has the flow {flow_id!r}")


async def cancel(instance_id: UUID, reason: str, *, dsn: str | None) -> Ran:
    """Cancel an instance; gives how it then stands, with its rows."""

    async def cancelled(host: FlowHost) -> Ran:
        return Ran(await host.cancel(instance_id, reason), await host.inspect(instance_id))

    return await on_host(dsn, instance_id, cancelled)


async def resume(instance_id: UUID, *, dsn: str | None) -> Ran:
    """Go on with an instance now, if nobody else does; gives how it then stands, with its rows."""

    async def resumed(host: FlowHost) -> Ran:
        return Ran(await host.resume(instance_id), await host.inspect(instance_id))

    return await on_host(dsn, instance_id, resumed)


async def retry(instance_id: UUID, by: str, *, dsn: str | None) -> Ran:
    """Try again what of an instance failed; gives how it then stands, with its rows."""

    async def retried(host: FlowHost) -> Ran:
        return Ran(await host.retry(instance_id, by), await host.inspect(instance_id))

    return await on_host(dsn, instance_id, retried)


async def replay(instance_id: UUID, *, dsn: str | None) -> Replayed:
    """Walk an instance's history again."""

    async def replayed(host: FlowHost) -> Replayed:
        return await host.replay(instance_id)

    return await on_host(dsn, instance_id, replayed)


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
