"""Takes plans of older versions away, when nothing needs them any more."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flowx_cli.building import read_sources
from flowx_cli.database import database
from flowx_compiler.build import analyse, plan_on_disk
from flowx_compiler.config import Config
from flowx_compiler.errors import UsageProblem
from flowx_runtime import PostgresJournal
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.records import Filter, State


class StillNeeded(FlowxError):
    """A plan that instances in the database are pinned to."""

    code: ClassVar[str] = "flow.plan_needed"


class NoSuchPlan(FlowxError):
    """No retired plan of that version is on disk."""

    code: ClassVar[str] = "flow.unknown"


@dataclass(frozen=True, slots=True)
class OldPlan:
    """A retired plan on disk."""

    flow_id: str
    version: str
    file: Path

    def __str__(self) -> str:
        return f"{self.flow_id}@{self.version}"


def prune(configs: Sequence[Config], named: Sequence[str], *, dsn: str | None) -> tuple[Path, ...]:
    """Remove the retired plans of the versions named, all or none; gives the files that are gone.

    Args:
        configs: the applications to look in.
        named: `1.0.0` for that version of every flow, `order.place@1.0.0` for one flow's.
        dsn: where instances are that may need them; else `FLOWX_DSN`, else the project's embedded server.

    Raises:
        NoSuchPlan: a name fits no retired plan.
        StillNeeded: an open instance is pinned to one of them.
        UsageProblem: no database is known.
        JournalUnavailable: the database cannot be asked.
    """
    found = [(config, _matching(config, named)) for config in configs]
    matched = [plan for _, plans in found for plan in plans]
    for name in named:
        if not any(_fits(plan, name) for plan in matched):
            raise NoSuchPlan(f"no retired plan is named {name!r}: a plan retires when its flow has a newer version")
    for config, plans in found:
        if plans:
            asyncio.run(_refuse_if_needed(config, plans, dsn))
    for plan in matched:
        plan.file.unlink()
    return tuple(plan.file for plan in matched)


def _matching(config: Config, named: Sequence[str]) -> list[OldPlan]:
    plans: list[OldPlan] = []
    unmarked: list[OldPlan] = []
    for file in sorted((config.root / config.plans_folder).glob("*_v*.py")):
        head = plan_on_disk(file.read_text("utf-8"))
        if head is not None:
            plan = OldPlan(head.flow_id, head.version, file)
            if any(_fits(plan, name) for name in named):
                (plans if head.is_retired else unmarked).append(plan)
    if unmarked:
        # A build that is refused because of a plan marks it no more, and taking it away is one way out.
        flows = analyse(read_sources(config)).program.flows.values()
        newer = {flow.id for flow in flows}
        current = {(flow.id, flow.version) for flow in flows}
        plans += [plan for plan in unmarked if plan.flow_id in newer and (plan.flow_id, plan.version) not in current]
    return plans


def _fits(plan: OldPlan, name: str) -> bool:
    return name in (plan.version, str(plan))


async def _refuse_if_needed(config: Config, plans: Sequence[OldPlan], dsn: str | None) -> None:
    data = config.root / ".flowx" / "postgres"
    if not (dsn or os.environ.get("FLOWX_DSN") or data.is_dir()):
        # An empty database would say that nothing is open.
        raise UsageProblem("instances may still need that plan: name their database with --dsn (or FLOWX_DSN)")
    open_states = frozenset(state for state in State if not state.is_terminal)
    with database(dsn, data=data) as server:
        journal = await PostgresJournal.open(server.dsn)
        try:
            for plan in plans:
                wanted = Filter(flow_id=plan.flow_id, flow_version=plan.version, states=open_states, limit=1000)
                instances = await journal.find(wanted)
                if instances:
                    count = f"{len(instances)}" if len(instances) < wanted.limit else f"{wanted.limit} or more"
                    raise StillNeeded(
                        f"{plan} is needed by {count} open instances, for example {instances[0].instance_id}: "
                        "let them end, or cancel them, before its plan goes"
                    )
        finally:
            await journal.close()
