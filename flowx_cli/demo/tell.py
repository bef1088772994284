"""Runs one scenario on a real server and says what happens while it happens."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from pydantic import TypeAdapter

from flowx_cli.database import Database
from flowx_cli.demo.narration import Narrator, Say
from flowx_cli.demo.scenarios import Scenario
from flowx_cli.demo.stages import OUTSIDE
from flowx_cli.project import load_capabilities, load_catalog
from flowx_compiler.config import Config
from flowx_runtime import Completed, Failed, FlowHost, PostgresJournal, Suspended
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.identity import mint_id
from flowx_runtime.plan import AwaitSignal, Plan, Poll

LOOK_EVERY = 0.02
"""Seconds between two looks at the rows. Only the eye needs them; the flow does not."""


async def tell(scenario: Scenario, config: Config, database: Database, say: Say) -> None:
    """Start the scenario's flow, show it waiting, deliver its signal if it has one, and show how it ends."""
    os.environ.update(scenario.environment)
    catalog = load_catalog(config)
    plan = catalog.plan(scenario.flow_id)
    stage = scenario.set_stage(config.root) if scenario.set_stage is not None else None
    journal = await PostgresJournal.open(database.dsn)
    host = FlowHost(
        plans=catalog,
        capabilities=load_capabilities(config) if stage is None else stage.capabilities,
        journal=journal,
        sweep_interval=timedelta(milliseconds=200),
    )
    async with host, await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
        request = TypeAdapter(plan.input).validate_json(json.dumps(scenario.input))
        say(f"\n{scenario.request}\n  {json.dumps(json.loads(Documents.published(plan.input, request)))}")
        if scenario.is_killed:
            instance_id = mint_id(datetime.now(UTC))
            await _kill_a_node(scenario, config, database, instance_id)
            outcome = await host.outcome(instance_id)
        else:
            outcome = await host.run(plan, request)
            say(_answer(outcome))
        digits, width = len(str(len(plan.nodes) - 1)), max(20, *map(len, scenario.remarks))
        narrator = Narrator(connection, outcome.instance_id, say, scenario.remarks, digits, width)
        if scenario.is_killed:
            await narrator.show_new_steps_inside()
            say("\nthe node that started it was killed (SIGKILL): the card is charged, and nobody wrote it down")
            if stage is not None:
                say("\nwhat the systems outside saw:\n  " + "\n  ".join(stage.seen()))
            say("\nthis node goes on with it as soon as the dead one's lease is free:")
        elif isinstance(outcome, Suspended):
            await narrator.show_parked()
        await _follow(scenario, plan, host, narrator)
        await narrator.show_events()
        await narrator.show_parked()
        if stage is not None:
            say("\nwhat the systems outside saw:\n  " + "\n  ".join(stage.seen()))
        say("\n" + _answer(await host.outcome(outcome.instance_id)))


async def _kill_a_node(scenario: Scenario, config: Config, database: Database, instance_id: UUID) -> None:
    """Have a process of its own start the flow, and wait until it is dead."""
    words = (str(config.root), database.dsn, scenario.flow_id, str(instance_id), json.dumps(scenario.input))
    doomed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "flowx_cli.demo.doomed", *words, str(config.root / OUTSIDE)
    )
    await doomed.wait()


async def _follow(scenario: Scenario, plan: Plan[Any, Any], host: FlowHost, narrator: Narrator) -> None:
    deliver_at = time.monotonic() + scenario.signal_after if scenario.signal else None
    while True:
        await narrator.show_new_steps_inside()
        await narrator.show_new_rows()
        if deliver_at is not None and time.monotonic() >= deliver_at:
            deliver_at = None
            narrator.say(f"\nPOST …/signals/{scenario.signal}\n  {json.dumps(scenario.signal_payload)}")
            await host.signal(narrator.instance_id, _message(plan, scenario.signal or "", scenario.signal_payload))
            narrator.say("202 Accepted\n")
        if not isinstance(await host.outcome(narrator.instance_id), Suspended):
            await narrator.show_new_steps_inside()
            await narrator.show_new_rows()
            return
        await asyncio.sleep(LOOK_EVERY)


def _message(plan: Plan[Any, Any], identity: str, payload: Mapping[str, Any]) -> Any:
    for node in plan.nodes:
        if isinstance(node, AwaitSignal | Poll) and node.signal is not None and node.signal.id == identity:
            return node.signal.type(**payload)
    raise LookupError(f"{plan.flow_id} waits for no signal {identity!r}")


def _answer(outcome: Completed | Suspended | Failed) -> str:
    body: dict[str, Any] = {"instanceId": str(outcome.instance_id)}
    match outcome:
        case Suspended():
            body["status"] = "suspended"
            if outcome.awaiting:
                body["awaiting"] = list(outcome.awaiting)
            return f"202 Accepted\n  {json.dumps(body)}"
        case Completed():
            body["status"] = "completed"
            body["output"] = outcome.value.model_dump(mode="json") if outcome.value is not None else None
            return f"Completed\n  {json.dumps(body)}"
        case Failed():
            body["status"] = "failed"
            body["code"] = outcome.error.code
            body["detail"] = outcome.error.detail
            return f"Failed\n  {json.dumps(body)}"
