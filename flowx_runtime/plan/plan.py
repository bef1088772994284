"""A compiled flow, and the floors that hold for it whoever made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar, Final, Generic, TypeVar

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.plan.nodes import ForEach, Lifted, Node, Parallel, Poll, Step, Switch, suspends, targets
from flowx_runtime.plan.routes import Route, route_problem
from flowx_runtime.plan.schedules import Schedule
from flowx_runtime.plan.uses import ContractUse, EventUse

In = TypeVar("In")
Out = TypeVar("Out")

FORMAT: Final = 1
"""The version of the plan's own vocabulary; a runtime refuses one it does not know."""


class InvalidPlan(FlowxError):
    """A plan that breaks one of its invariants. It was edited by hand: run `flowx build` again."""

    code: ClassVar[str] = "flow.plan_invalid"


@dataclass(frozen=True, slots=True)
class FailureEmit:
    """An event staged once when the flow fails."""

    name: str
    event: EventUse
    payload: Lifted


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[In, Out]):
    """One version of one flow, ready to run. Generated; validated again wherever it is loaded.

    Raises:
        InvalidPlan: an invariant does not hold.
    """

    format: int
    flow_id: str
    version: str
    digest: str
    """SHA-256 over everything that changes the flow's meaning."""
    profile: Profile
    input: type[In]
    output: type[Out] | None
    nodes: tuple[Node, ...]
    returns: Lifted | None = None
    """The output projection; `None` for a flow without an output."""
    deadline: timedelta | None = None
    owner: str | None = None
    contracts: tuple[ContractUse, ...] = ()
    """Every contract the plan reads or writes."""
    on_failure: tuple[FailureEmit, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    """When it starts by itself. Not in the digest: a running instance does not care what started it."""
    routes: tuple[Route, ...] = ()
    """Which requests start it; likewise."""

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise InvalidPlan(f"the plan of {self.flow_id} {self.version} is not valid: {problem}. Run `flowx build`.")


def _problems(plan: Plan[Any, Any]) -> Iterator[str]:
    if plan.format != FORMAT:
        yield f"it has format {plan.format}, this runtime runs format {FORMAT}"
        return
    if not plan.nodes:
        yield "it has no nodes"
    for schedule in plan.schedules:
        if plan.profile is not Profile.DURABLE:
            yield f"it has the schedule {schedule.cron!r}, which needs a durable profile"
        if schedule.jitter is not None and schedule.jitter <= timedelta(0):
            yield f"the jitter of the schedule {schedule.cron!r} is no time at all"
    for route in plan.routes:
        problem = route_problem(route.method, route.path)
        if problem is not None:
            yield problem
        if route.idempotent and plan.profile is not Profile.DURABLE:
            yield f"its route {route.path!r} is idempotent, which needs a durable profile"
    end = len(plan.nodes)
    names: set[str] = set()
    for position, node in enumerate(plan.nodes):
        if node.index != position:
            yield f"node {position} says it has index {node.index}"
        for target in targets(node):
            if not position < target <= end:
                yield f"node {position} points to {target}, which is not ahead of it"
        if suspends(node) and plan.profile is not Profile.DURABLE:
            yield f"node {position} waits, which needs a durable profile"
        name = getattr(node, "name", None)
        if name is not None:
            if name in names:
                yield f"two nodes are named {name!r}"
            names.add(name)
        yield from _problems_of_kind(plan, node)


def _problems_of_kind(plan: Plan[Any, Any], node: Node) -> Iterator[str]:
    match node:
        case Step():
            undo = node.compensation
            if undo is not None and undo.request not in (node.capability.request, node.capability.result):
                yield f"the undo of {node.name!r} takes neither its request nor its result"
            if node.policy is not None and node.policy.retry is not None and not node.capability.idempotent:
                yield f"{node.name!r} is retried but not idempotent"
            yield from _policy_faults(node)
        case Poll():
            body = plan.nodes[node.index + 1] if node.index + 1 < len(plan.nodes) else None
            if not isinstance(body, Step) or body.compensation is not None:
                yield f"the poll at {node.index} is not followed by its attempt"
            elif not body.capability.idempotent:
                yield f"the poll at {node.index} repeats {body.capability.id!r}, which is not idempotent"
        case Parallel():
            bounds = (*node.branches, node.join)
            if len(node.branches) < 2 or node.branches[0] != node.index + 1 or any(a >= b for a, b in pairwise(bounds)):
                yield f"the branches of the fork at {node.index} are not ascending spans"
        case ForEach():
            if not 1 <= node.max_concurrency <= 64:
                yield f"the loop at {node.index} has a concurrency of {node.max_concurrency}"
        case Switch():
            if not node.cases:
                yield f"the switch at {node.index} has no case"
        case _:
            return


def _policy_faults(step: Step) -> Iterator[str]:
    """What a policy must not do over this capability."""
    policy, use = step.policy, step.capability
    if policy is None:
        return
    if policy.hedge is not None and (not use.idempotent or use.has_steps):
        yield f"{step.name!r} is hedged but not idempotent, or has steps of its own"
    if policy.cache is not None and use.side_effects:
        yield f"{step.name!r} is cached but has side effects"
    if policy.fallback is not None and use.side_effects:
        yield f"{step.name!r} has a fallback but also side effects"
