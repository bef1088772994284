"""Whether a plan still says what its code says. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from flowx_runtime.authoring.capabilities import capability_declaration
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.messages import event_declaration, signal_declaration
from flowx_runtime.plan.nodes import AwaitSignal, Emit, Poll, Step
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.uses import CapabilityUse, ContractUse, EventUse, SignalUse


class PlanStale(FlowxError):
    """A plan is older than the code it was compiled from: run `flowx build`."""

    code: ClassVar[str] = "flow.plan_stale"


def check_fresh(plan: Plan[Any, Any]) -> None:
    """Compare what the compiler recorded with the declarations as they are now.

    Raises:
        PlanStale: something moved; all that moved is named.
    """
    moved = list(dict.fromkeys(_moved(plan)))
    if moved:
        raise PlanStale(
            f"the plan of {plan.flow_id} {plan.version} is older than its code: {'; '.join(moved)}. Run `flowx build`."
        )


def check_retired(plan: Plan[Any, Any]) -> None:
    """Hold a retired plan to less: versions and effects may have moved, but each capability is still the same one.

    Raises:
        PlanStale: a name that it imports is another capability now, or none; all that moved is named.
    """
    moved = [
        f"{getattr(use.target, '__qualname__', repr(use.target))} was the capability {use.id!r} and is "
        f"{_said(None if declared is None else (declared.id,))}"
        for use in _capabilities(plan)
        for declared in (capability_declaration(use.target),)
        if declared is None or declared.id != use.id
    ]
    if moved:
        raise PlanStale(f"{'; '.join(dict.fromkeys(moved))}: keep the former one under its name beside the new one")


def shape(contract: type[Any]) -> tuple[str, ...] | None:
    """A contract's members in sorted order, `"name?"` where it has a default; `None` for what is no pydantic model."""
    fields = getattr(contract, "model_fields", None)
    if not isinstance(fields, dict):
        return None
    return tuple(sorted(name if field.is_required() else f"{name}?" for name, field in fields.items()))


def _moved(plan: Plan[Any, Any]) -> Iterator[str]:
    for contract in plan.contracts:
        yield from _contract(contract)
    for failure in plan.on_failure:
        yield from _event(failure.event)
    for node in plan.nodes:
        match node:
            case Step():
                yield from _capability(node.capability)
                if node.compensation is not None:
                    yield from _capability(node.compensation)
            case Emit():
                yield from _event(node.event)
            case AwaitSignal():
                yield from _signal(node.signal)
            case Poll() if node.signal is not None:
                yield from _signal(node.signal)
            case _:
                continue


def _capabilities(plan: Plan[Any, Any]) -> Iterator[CapabilityUse]:
    for node in plan.nodes:
        if isinstance(node, Step):
            yield node.capability
            if node.compensation is not None:
                yield node.compensation


def _contract(use: ContractUse) -> Iterator[str]:
    now = shape(use.type)
    if use.shape is not None and now is not None and now != use.shape:
        yield f"the contract {use.type.__qualname__} had the members {_listed(use.shape)} and has {_listed(now)}"


def _capability(use: CapabilityUse) -> Iterator[str]:
    name = getattr(use.target, "__qualname__", repr(use.target))
    declared = capability_declaration(use.target)
    if declared is None:
        yield f"{name} is no longer decorated with @capability"
        return
    facts = (
        ("id", use.id, declared.id),
        ("version", use.version, declared.version),
        ("idempotent", use.idempotent, declared.idempotent),
        ("side_effects", use.side_effects, declared.side_effects),
    )
    for fact, recorded, now in facts:
        if recorded != now:
            yield f"the capability {name} had {fact} {recorded!r} and has {now!r}"


def _event(use: EventUse) -> Iterator[str]:
    declared = event_declaration(use.type)
    now = None if declared is None else (declared.id, declared.version)
    if now != (use.id, use.version):
        yield f"the event {use.type.__qualname__} was {use.id!r} {use.version} and is {_said(now)}"


def _signal(use: SignalUse) -> Iterator[str]:
    declared = signal_declaration(use.type)
    now = None if declared is None else (declared.id,)
    if now != (use.id,):
        yield f"the signal {use.type.__qualname__} was {use.id!r} and is {_said(now)}"


def _said(declared: tuple[str, ...] | None) -> str:
    return "not declared any more" if declared is None else " ".join(map(repr, declared))


def _listed(members: tuple[str, ...]) -> str:
    return ", ".join(members) or "none"
