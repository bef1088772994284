"""Which flows pay for a journal that they have no use for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowx_cli.building import configured
from flowx_cli.project import load_catalog, load_plan
from flowx_runtime import Profile
from flowx_runtime.plan import AwaitSignal, Delay, Emit, Plan, Poll, Step, SubFlow


@dataclass(frozen=True, slots=True)
class Unused:
    """A durable flow that uses none of durability."""

    flow_id: str
    version: str
    rows: int
    """The rows that a run writes for its steps, at most once round its loops."""

    @property
    def saves(self) -> str:
        """What it would save in memory."""
        rows = "a row" if self.rows == 1 else f"{self.rows} rows"
        return f"an instance with {rows} for each run, and the wait for their commits"


@dataclass(frozen=True, slots=True)
class Cost:
    """What was looked at, and what was found."""

    durable: int
    found: Sequence[Unused]

    def as_json(self) -> str:
        """One JSON document."""
        findings = [
            {"flow": each.flow_id, "version": each.version, "rows": each.rows, "saves": each.saves}
            for each in self.found
        ]
        return json.dumps({"durableFlows": self.durable, "flagged": len(findings), "findings": findings}, indent=2)

    def lines(self) -> Iterator[str]:
        """It for a person."""
        for each in self.found:
            yield f"{each.flow_id} {each.version} is durable and uses nothing of it"
            yield f"    Profile.EPHEMERAL saves {each.saves}"
        flows = "1 durable flow" if self.durable == 1 else f"{self.durable} durable flows"
        yield f"{len(self.found)} of {flows} could run in memory" if self.found else f"nothing found in {flows}"


def look_for_cost() -> Cost:
    """Look at every current flow of the project in this folder.

    Raises:
        FlowxError: the project is not built.
    """
    plans: list[Plan[Any, Any]] = []
    for config in configured(Path()):
        catalog = load_catalog(config)
        plans += [load_plan(catalog, entry.flow_id) for entry in catalog if not entry.retired]
    composed = {node.flow_id for plan in plans for node in plan.nodes if isinstance(node, SubFlow)}
    durable = [plan for plan in plans if plan.profile is Profile.DURABLE]
    found = [
        Unused(plan.flow_id, plan.version, sum(isinstance(node, Step) for node in plan.nodes))
        for plan in durable
        if plan.flow_id not in composed and not uses_durability(plan)
    ]
    return Cost(len(durable), sorted(found, key=lambda each: each.flow_id))


def uses_durability(plan: Plan[Any, Any]) -> bool:
    """Whether anything of a flow needs what a journal gives; where one could argue, it does.

    A wait, a poll, an undo, a retry, a step inside a capability, a sub-flow, an event, a schedule, an idempotent
    request; or an effect with steps after it, which a crash would otherwise leave undone.
    """
    if plan.on_failure or plan.schedules or any(route.idempotent for route in plan.routes):
        return True
    if any(isinstance(node, AwaitSignal | Delay | Poll | SubFlow | Emit) for node in plan.nodes):
        return True
    steps = [node for node in plan.nodes if isinstance(node, Step)]
    return any(_needs_a_journal(step) for step in steps) or any(step.capability.side_effects for step in steps[:-1])


def _needs_a_journal(step: Step) -> bool:
    has_retry = step.policy is not None and step.policy.retry is not None
    return step.compensation is not None or step.capability.has_steps or has_retry
