"""Decides whether a caller may have a step done.

Who asks is known to the run, not to the instance: nothing of it is stored. Steps that run while a caller waits for its
answer are judged one by one, as the walk comes to them. Behind a wait there is no caller any more: a timer, a signal
or a recovery goes on, and what was begun is finished. So that nothing behind a wait escapes, a caller who starts a
flow needs what those steps need as well, judged before there is an instance.
"""

from __future__ import annotations

from collections.abc import Callable
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
from flowx_runtime.authoring.vocabulary import Category, SubFlowMode
from flowx_runtime.plan.nodes import AwaitSignal, Delay, Poll, Step, SubFlow
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
    return next((refused for use in judged if (refused := refusal(use, caller)) is not None), None)


def _without_caller(
    plan: Plan[Any, Any], find: Find, above: frozenset[str], *, is_behind: bool = False
) -> list[CapabilityUse]:
    """What steps call that may run when nobody waits for the answer: those behind the first wait."""
    found: list[CapabilityUse] = []
    for node in plan.nodes:
        match node:
            case AwaitSignal() | Delay() | Poll():
                is_behind = True
            case Step() if is_behind:
                found.append(node.capability)
            case SubFlow():
                child = find(node.flow_id, node.version)
                if child is not None and node.flow_id not in above:
                    is_detached = node.mode is SubFlowMode.DETACHED
                    inside = above | {plan.flow_id}
                    found += _without_caller(child, find, inside, is_behind=is_behind or is_detached)
                    is_behind = is_behind or (not is_detached and _waits(child))
            case _:
                pass
    return found


def _waits(plan: Plan[Any, Any]) -> bool:
    return any(isinstance(node, AwaitSignal | Delay | Poll) for node in plan.nodes)
