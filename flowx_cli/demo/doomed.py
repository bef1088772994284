"""A node that starts a flow and is killed in the middle of it: run as a module, in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from pydantic import TypeAdapter

from flowx_cli.building import configured
from flowx_cli.demo.outside import Outside, capabilities_around
from flowx_cli.project import load_catalog
from flowx_runtime import FlowHost, PostgresJournal


async def start_and_die(root: Path, dsn: str, flow_id: str, instance_id: UUID, input_text: str, file: Path) -> None:
    """Start a flow with systems of which one ends this process."""
    (config,) = configured(root)
    catalog = load_catalog(config)
    plan = catalog.plan(flow_id)
    journal = await PostgresJournal.open(dsn)
    host = FlowHost(
        plans=catalog,
        capabilities=capabilities_around(Outside(file, kills=True)),
        journal=journal,
        lease_ttl=timedelta(seconds=2),
    )
    async with host:
        await host.run(plan, TypeAdapter(plan.input).validate_json(input_text), instance_id=instance_id)


if __name__ == "__main__":
    root, dsn, flow_id, instance_id, input_text, file = sys.argv[1:]
    asyncio.run(start_and_die(Path(root), dsn, flow_id, UUID(instance_id), input_text, Path(file)))
