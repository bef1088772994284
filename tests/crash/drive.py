"""What the world does to the instances of a scenario, whichever process of theirs is alive."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any
from uuid import UUID

from flowx_runtime.engine.identity import started_id
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Filter, InstanceRow, State
from tests.crash.capabilities import CLASSES, Order
from tests.crash.scenarios import Scenario
from tests.crash.world import World

KEY = "k"
PATIENCE = 20
"""Seconds until a process that is stuck says so."""

SHORTLY = 0.005
"""Seconds between two looks for a lease that has run out."""


def root_of(scenario: Scenario) -> UUID:
    """The instance that is started."""
    return started_id(scenario.plans[0].flow_id, None, KEY)


def host_of(scenario: Scenario, journal: Journal, world: World, **changes: Any) -> FlowHost:
    """A host for the scenario's plans; it looks for work only when it is told to."""
    used = {
        use.target
        for plan in scenario.plans
        for node in plan.nodes
        for use in (getattr(node, "capability", None), getattr(node, "compensation", None))
        if use is not None
    }
    capabilities = [cls(world) for cls in CLASSES if cls in used]
    settings: dict[str, Any] = {"clock": world, "sweep_interval": None, "pause": _no_pause, "random": Random(7)}
    return FlowHost(scenario.plans, capabilities, journal=journal, **(settings | changes))


async def _no_pause(_: object) -> None:
    return None


async def drive(scenario: Scenario, host: FlowHost, journal: Journal, world: World, *, takes_over: bool) -> None:
    """Start the scenario, send what is waited for, let time pass; until every instance has ended.

    All of it is safe to repeat, as a client would that got no answer. A process that takes over first goes on with
    whatever it finds.
    """
    if takes_over:
        if scenario.is_late:
            await _signal_too_late(scenario, host, journal)
        await host.sweep_once()
        await _parked(host, journal)
    await host.run(scenario.plans[0].flow_id, Order(name="o"), idempotency_key=KEY)
    if scenario.is_early and not await _has_ended(journal):
        await host.signal(root_of(scenario), scenario.signal, delivery_id="the one")
    while parked := await _parked(host, journal):
        await asyncio.sleep(0)  # on a journal in memory nothing else lets the event loop see that time is up
        root = next((instance for instance in parked if instance.instance_id == root_of(scenario)), None)
        if root is not None and scenario.is_cancelled and root.cancel_reason is None:
            await host.cancel(root.instance_id, "not wanted")
        elif root is not None and _is_signalled(scenario) and _awaits_signal(root):
            await host.signal(root.instance_id, scenario.signal, delivery_id="the one")
        elif any(instance.cancel_reason is not None for instance in parked):
            await _sweep(host)
        else:
            world.move_to(min(wait.wake_at for instance in parked for wait in instance.waits))
            await _sweep(host)


async def _parked(host: FlowHost, journal: Journal) -> list[InstanceRow]:
    """What is parked, when all that was running has come to rest."""
    while True:
        open_now = [instance for instance in await journal.find(Filter()) if not instance.state.is_terminal]
        if all(instance.state is State.SUSPENDED for instance in open_now):
            return open_now
        await _sweep(host)
        await asyncio.sleep(0)


async def _sweep(host: FlowHost) -> None:
    if not await host.sweep_once():
        await asyncio.sleep(SHORTLY)  # a dead process holds a lease; only the journal knows for how long


async def _signal_too_late(scenario: Scenario, host: FlowHost, journal: Journal) -> None:
    for instance in await journal.find(Filter()):
        if instance.error is not None and not instance.state.is_terminal:
            await host.signal(instance.instance_id, scenario.signal)


def _is_signalled(scenario: Scenario) -> bool:
    return scenario.signal is not None and not scenario.is_late


async def _has_ended(journal: Journal) -> bool:
    return all(instance.state.is_terminal for instance in await journal.find(Filter()))


def _awaits_signal(instance: InstanceRow) -> bool:
    return any(wait.signal_id == "work.approved" for wait in instance.waits)
