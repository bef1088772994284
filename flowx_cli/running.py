"""Runs one flow of a project once and says how it stands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from flowx_cli.building import configured
from flowx_cli.database import database
from flowx_cli.freshness import why_not_fresh
from flowx_cli.given import given_value
from flowx_cli.project import load_capabilities, load_catalog, load_key_ring, load_plan
from flowx_compiler.config import Config
from flowx_runtime import Completed, Failed, FlowHost, Outcome, PostgresJournal, Suspended
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.session import children_waited_for
from flowx_runtime.host.outcome import Compensation
from flowx_runtime.journal.records import REOPENED, History, InstanceRow

LOOK_EVERY = 0.05
"""Seconds between two looks at an instance that is waited for."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run stands, with its rows."""

    outcome: Outcome
    history: History | None
    """`None` for a flow that keeps no journal."""
    remarks: tuple[str, ...] = ()
    """What a person should know besides."""
    is_stranded: bool = False
    """Nobody with the plans of this project goes on with it."""

    @property
    def has_failed(self) -> bool:
        """Whether the flow ended with an error."""
        return isinstance(self.outcome, Failed)

    @property
    def has_failed_again(self) -> bool:
        """Whether what was retried failed: of an instance that goes back, the undo; else the flow."""
        if not isinstance(self.outcome, Failed):
            return False
        rows = () if self.history is None else self.history.rows
        was_reopened = any(row.capability_id == REOPENED for row in rows)
        return not was_reopened or self.outcome.compensation is Compensation.FAILED

    def document(self) -> dict[str, Any]:
        """The run as JSON."""
        found: dict[str, Any] = {"instanceId": str(self.outcome.instance_id)}
        match self.outcome:
            case Completed(value=value):
                published = None if value is None else json.loads(Documents.published(type(value), value))
                found |= {"status": "completed", "output": published}
            case Suspended(awaiting=awaiting):
                found |= {"status": "suspended", "awaiting": list(awaiting)}
            case Failed(error=error, compensation=compensation):
                found |= {"status": "failed", "code": error.code, "detail": error.detail}
                found |= {"compensation": compensation.value}
        if self.history is not None:
            found["history"] = [
                {
                    "scope": row.scope,
                    "step": row.step_id,
                    "attempt": row.attempt,
                    "capability": row.capability_id,
                    "outcome": row.outcome.value,
                }
                for row in self.history.rows
            ]
        return found

    def as_json(self) -> str:
        """One JSON document."""
        return json.dumps(self.document(), indent=2)

    def as_text(self) -> str:
        """For a person: the outcome on one line, then a line per row."""
        document = self.document()
        rows = document.pop("history", [])
        lines = [f"{document.pop('status')}  {json.dumps(document)}"]
        lines += [f"  {row['scope']:>5} | {row['step']} | {row['capability']:<24} | {row['outcome']}" for row in rows]
        return "\n".join(lines)


async def run_once(flow: str, input_text: str, *, wait: bool, key: str | None, dsn: str | None) -> Ran:
    """Run a flow of the project in this folder.

    Raises:
        UsageProblem: the input is not JSON, or not what the flow takes.
        FlowxError: the flow is unknown, the project not built, the store unreachable.
    """
    config = _application(configured(Path()), flow)
    catalog = load_catalog(config)
    plan = load_plan(catalog, flow)
    request = given_value(plan.input, input_text, f"the input of {plan.flow_id}")
    remarks = tuple(filter(None, [why_not_fresh(config)]))
    with database(dsn, data=config.root / ".flowx" / "postgres") as server:
        journal = await PostgresJournal.open(server.dsn)
        host = FlowHost(
            plans=catalog,
            capabilities=load_capabilities(config),
            key_ring=load_key_ring(config),
            journal=journal,
            sweep_interval=timedelta(milliseconds=500) if wait else None,
        )
        async with host:
            outcome = await host.run(plan, request, idempotency_key=key)
            stranded: InstanceRow | None = None
            while wait and isinstance(outcome, Suspended):
                await asyncio.sleep(LOOK_EVERY)
                stranded = await _stranded(host, outcome.instance_id)
                if stranded is not None:
                    remarks += (_said_of(stranded),)
                    break
                outcome = await host.outcome(outcome.instance_id)
            history = await host.inspect(outcome.instance_id) if plan.profile.value == "durable" else None
            return Ran(outcome, history, remarks, is_stranded=stranded is not None)


def _application(configs: Sequence[Config], flow: str) -> Config:
    """The application that has the flow; the first one, to say what it has, where none does."""
    if len(configs) == 1:
        return configs[0]
    has_it = (config for config in configs if any(entry.flow_id == flow for entry in load_catalog(config)))
    return next(has_it, configs[0])


async def _stranded(host: FlowHost, instance_id: UUID) -> InstanceRow | None:
    """The instance, or a child that it waits for, if this host lacks its plan."""
    instance = (await host.inspect(instance_id)).instance
    if not instance.state.is_terminal and not host.has_plan(instance):
        return instance
    for child in children_waited_for(instance.waits):
        found = await _stranded(host, child)
        if found is not None:
            return found
    return None


def _said_of(instance: InstanceRow) -> str:
    return (
        f"instance {instance.instance_id} is pinned to another plan of {instance.flow_id} {instance.flow_version} than "
        "this project has, so nothing here goes on with it: give the flow a new version when it changes, and keep the "
        "former one"
    )
