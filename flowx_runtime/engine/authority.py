"""Decides whether a caller may have a step done.

Who asks is known to the run, not to the instance: nothing of it is stored. Steps that run while a caller waits for its
answer are judged one by one, as the walk comes to them. Behind a wait there is no caller any more: a timer, a signal
or a recovery goes on, and what was begun is finished. So that nothing behind a wait escapes, a caller who starts a
flow needs what those steps need as well, judged before there is an instance. A wait is whatever may park: a node that
waits, a step whose policy may try again later or hold it back, a body with steps that run once, a child with any of
these; and in a loop with one of them, all of its body.

Not covered, because no plan says where it happens: an instance whose process dies, or that is taken up when a pause is
over, is finished without its caller, and steps that only the walk would have judged are run. A caller cannot bring
that about. A flow for which it matters has its permission at the first step.

Nobody is signed in where a flow's first step is not `Public`: `Internal` is what flows call, not what opens one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never

from flowx_runtime.authoring.authorization import (
    Anonymous,
    Authenticated,
    Authorization,
    Caller,
    Internal,
    Permission,
    Public,
)
from flowx_runtime.authoring.capabilities import capability_declaration
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.vocabulary import Category, Profile, SubFlowMode
from flowx_runtime.engine.turns import LONGEST_PAUSE
from flowx_runtime.plan.nodes import AwaitSignal, Delay, ForEach, Node, Poll, Step, SubFlow
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.uses import CapabilityUse

Find: TypeAlias = Callable[[str, str], Plan[Any, Any] | None]
"""The plan of a flow id and version."""


class NotAuthenticated(FlowError, code="authorization.not_authenticated", category=Category.FORBIDDEN):
    """This needs a signed-in caller."""


class PermissionDenied(FlowError, code="authorization.permission_denied", category=Category.FORBIDDEN):
    """The caller lacks a permission."""


def stance_of(use: CapabilityUse) -> Authorization | None:
    """What the capability says; `None` for a substitute that says nothing."""
    declared = capability_declaration(use.target)
    return None if declared is None else declared.authorization


def refusal(use: CapabilityUse, caller: Caller | None) -> FlowError | None:
    """Why a caller may not have a capability called; it names the grant that lacks, never the caller."""
    stance = None if caller is None else stance_of(use)
    match stance:
        case None | Public() | Internal():
            # Internal means that nobody calls it but flows; this is one.
            return None
        case Authenticated():
            return NotAuthenticated(f"{use.id!r} needs a signed-in caller") if isinstance(caller, Anonymous) else None
        case Permission(name=needed):
            if caller is None or isinstance(caller, Anonymous):
                return NotAuthenticated(f"{use.id!r} needs a signed-in caller")
            if needed in caller.permissions:
                return None
            return PermissionDenied(f"{use.id!r} needs the permission {needed!r}")
        case _:
            assert_never(stance)


def refusal_at_start(plan: Plan[Any, Any], caller: Caller | None, find: Find) -> FlowError | None:
    """Why a caller cannot begin: for want of what the first step needs, or any step that will run without them.

    Args:
        plan: the flow.
        caller: who asks.
        find: the plan of a sub-flow, by id and version.
    """
    if caller is None:
        return None
    first = plan.nodes[0] if plan.nodes else None
    judged = [first.capability] if isinstance(first, Step) else []
    judged += _without_caller(plan, find, frozenset())
    refused = next((refused for use in judged if (refused := refusal(use, caller)) is not None), None)
    if refused is None and isinstance(caller, Anonymous) and not is_open_to_anybody(plan, find):
        entry = _entry(plan, find, frozenset())
        named = repr(plan.flow_id if entry is None else entry.id)
        return NotAuthenticated(f"{named} needs a signed-in caller")
    return refused


def is_open_to_anybody(plan: Plan[Any, Any], find: Find) -> bool:
    """Whether a caller who is not signed in may start a flow: its first step in plan order is `Public`."""
    entry = _entry(plan, find, frozenset())
    return entry is not None and isinstance(stance_of(entry), Public)


def _entry(plan: Plan[Any, Any], find: Find, above: frozenset[str]) -> CapabilityUse | None:
    """What the first step in plan order calls, also where that is inside a child."""
    for node in plan.nodes:
        if isinstance(node, Step):
            return node.capability
        if isinstance(node, SubFlow) and node.flow_id not in above:
            child = find(node.flow_id, node.version)
            entry = None if child is None else _entry(child, find, above | {plan.flow_id})
            if entry is not None:
                return entry
    return None


def _without_caller(
    plan: Plan[Any, Any], find: Find, above: frozenset[str], *, is_behind: bool = False
) -> list[CapabilityUse]:
    """What steps call that may run when nobody waits for the answer: those behind the first wait."""
    found: list[CapabilityUse] = []
    loop_end = 0
    for node in plan.nodes:
        if isinstance(node, ForEach) and _waits(plan, plan.nodes[node.index + 1 : node.join], find, above):
            loop_end = max(loop_end, node.join)  # another element comes there when the first has parked
        is_unjudged = is_behind or node.index < loop_end
        match node:
            case Step() if is_unjudged:
                found.append(node.capability)
            case SubFlow():
                child = find(node.flow_id, node.version)
                if child is not None and node.flow_id not in above:
                    is_detached = node.mode is SubFlowMode.DETACHED
                    inside = above | {plan.flow_id}
                    found += _without_caller(child, find, inside, is_behind=is_unjudged or is_detached)
            case _:
                pass
        is_behind = is_behind or _waits(plan, (node,), find, above)
    return found


def _waits(plan: Plan[Any, Any], nodes: Sequence[Node], find: Find, above: frozenset[str]) -> bool:
    """Whether any of the nodes of a plan may park its instance."""
    return any(_may_park(plan, node, find, above) for node in nodes)


def _may_park(plan: Plan[Any, Any], node: Node, find: Find, above: frozenset[str]) -> bool:
    match node:
        case AwaitSignal() | Delay() | Poll():
            return True
        case Step():
            return plan.profile is Profile.DURABLE and _may_pause_long(node)
        case SubFlow(mode=SubFlowMode.INLINE) if node.flow_id not in above:
            child = find(node.flow_id, node.version)
            return child is not None and _waits(child, child.nodes, find, above | {plan.flow_id})
        case _:
            return False


def _may_pause_long(step: Step) -> bool:
    """Whether a step may be held back or tried again later than is slept through."""
    if step.capability.has_steps:
        return True
    policy = step.policy
    if policy is None:
        return False
    if policy.rate_limit is not None:
        return True
    retry = policy.retry
    return retry is not None and retry.attempts > 1 and retry.backoff.gap(retry.attempts - 2, draw=1.0) > LONGEST_PAUSE
