"""Runs one flow of a project once and says how it stands."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flowx_cli.building import configured
from flowx_cli.database import database
from flowx_cli.project import load_capabilities, load_catalog, load_plan
from flowx_compiler.errors import UsageProblem
from flowx_runtime import Completed, Failed, FlowHost, Outcome, PostgresJournal, Suspended
from flowx_runtime.engine.documents import Documents
from flowx_runtime.journal.records import History
from flowx_runtime.plan import Plan

LOOK_EVERY = 0.05
"""Seconds between two looks at an instance that is waited for."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run stands, with its rows."""

    outcome: Outcome
    history: History | None
    """`None` for a flow that keeps no journal."""

    @property
    def has_failed(self) -> bool:
        """Whether the flow ended with an error."""
        return isinstance(self.outcome, Failed)

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
    config, *others = configured(Path())
    if others:
        raise UsageProblem("this project has several applications: run from a folder with one")
    catalog = load_catalog(config)
    plan = load_plan(catalog, flow)
    request = _input(plan, input_text)
    with database(dsn, data=config.root / ".flowx" / "postgres") as server:
        journal = await PostgresJournal.open(server.dsn)
        host = FlowHost(
            plans=catalog,
            capabilities=load_capabilities(config),
            journal=journal,
            sweep_interval=timedelta(milliseconds=500) if wait else None,
        )
        async with host:
            outcome = await host.run(plan, request, idempotency_key=key)
            while wait and isinstance(outcome, Suspended):
                await asyncio.sleep(LOOK_EVERY)
                outcome = await host.outcome(outcome.instance_id)
            history = await host.inspect(outcome.instance_id) if plan.profile.value == "durable" else None
            return Ran(outcome, history)


def _input(plan: Plan[Any, Any], text: str) -> Any:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text("utf-8")
        except OSError as error:
            raise UsageProblem(f"the input file {text[1:]!r} cannot be read: {error.strerror}") from error
    try:
        return TypeAdapter(plan.input).validate_json(text)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'the document'}: {item['msg']}" for item in error.errors()
        )
        raise UsageProblem(f"this is not the input of {plan.flow_id}: {problems}") from error
