"""Delivers a signal by its id: finds its contract among the plans of the project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from flowx_cli.given import given_value
from flowx_cli.instances import on_host
from flowx_cli.running import Ran
from flowx_runtime import FlowHost
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.records import InstanceRow
from flowx_runtime.plan import AwaitSignal, Plan, Poll, SignalUse


class UnknownSignal(FlowxError):
    """No wait of the flow takes such a signal."""

    code: ClassVar[str] = "flow.unknown_signal"


async def deliver(instance_id: UUID, signal_id: str, text: str, delivery_id: str | None, *, dsn: str | None) -> Ran:
    """Deliver a signal; gives how the instance then stands, with its rows.

    Raises:
        UnknownSignal: the instance's flow waits for no such signal.
        UsageProblem: the data is not what the signal carries.
        FlowxError: the instance is unknown or has ended, the project is not built, the store unreachable.
    """

    async def delivered(host: FlowHost) -> Ran:
        instance = (await host.inspect(instance_id)).instance
        contract = _contract(host, instance, signal_id)
        message = given_value(contract, text, f"the data of {signal_id}")
        await host.signal(instance_id, message, delivery_id=delivery_id)
        return Ran(await host.outcome(instance_id), await host.inspect(instance_id))

    return await on_host(dsn, instance_id, delivered)


def _contract(host: FlowHost, instance: InstanceRow, signal_id: str) -> type[Any]:
    """The contract that the instance's own plan names; the one that any other plan does where that is not here."""
    pinned = host.find_plan(instance.flow_id, instance.flow_version)
    plans = host.current_plans if pinned is None else (pinned,)
    known = {use.id: use.type for plan in plans for use in _signals(plan)}
    if signal_id not in known:
        of = f"{instance.flow_id} {instance.flow_version}" if pinned is not None else "the flows of this project"
        there = f"known are {', '.join(sorted(known))}" if known else "there is none to deliver"
        raise UnknownSignal(f"no wait of {of} takes the signal {signal_id!r}; {there}")
    return known[signal_id]


def _signals(plan: Plan[Any, Any]) -> Iterator[SignalUse]:
    for node in plan.nodes:
        if isinstance(node, AwaitSignal | Poll) and node.signal is not None:
            yield node.signal
