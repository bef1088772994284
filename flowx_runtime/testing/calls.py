"""Calls of capabilities under test: what answers, what is noted, and ids and random values that repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from flowx_runtime.engine.capabilities import Capabilities, CapabilityMissing
from flowx_runtime.host.plans import uses_of
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.uses import CapabilityUse
from flowx_runtime.testing.answers import Substitute
from flowx_runtime.testing.errors import TestSetupError
from flowx_runtime.testing.ledger import Call, Ledger
from flowx_runtime.testing.node import Node
from flowx_runtime.testing.node_journal import LEASES
from flowx_runtime.testing.virtual_time import VirtualClock, bits_of

__tracebackhide__ = True  # a failed test shows its own lines

Wrapped = Callable[[Any, Any], Awaitable[Any]]


class Calls:
    """Stands before every capability of a test host, substituted or real. It is part of the world outside."""

    def __init__(
        self,
        substitutes: Mapping[str, Substitute],
        capabilities: Iterable[Any],
        *,
        ledger: Ledger,
        clock: VirtualClock,
        seed: int,
    ) -> None:
        self._substitutes = substitutes
        self._real = Capabilities(capabilities)
        self._ledger = ledger
        self._clock = clock
        self._seed = seed

    def of(self, node: Node, plans: Iterable[Plan[Any, Any]]) -> dict[str, Wrapped]:
        """What one node calls, by capability id."""
        return {use.id: self._wrapped(use, node) for use in uses_by_id(plans).values()}

    def unused(self) -> list[str]:
        """The substitutes that nothing called, but for optional ones."""
        return sorted(name for name, each in self._substitutes.items() if not (each.is_used or each.is_optional))

    def _wrapped(self, use: CapabilityUse, node: Node) -> Wrapped:
        async def called(request: Any, context: Any) -> Any:
            call = Call(
                host=node.number,
                instance_id=context.instance_id,
                flow_id=context.flow_id,
                scope=context.scope,
                name=context.name,
                capability_id=use.id,
                attempt=context.attempt,
                compensates=context.compensating_for,
                request=request,
                at=self._clock.now(),
                # The lease of a child is given out in a task of its own, and is this node's all the same.
                fence=LEASES.get().get(context.instance_id, node.tokens.get(context.instance_id, 0)),
            )
            drawn = iter(range(1_000_000))
            context.randbits = lambda count: bits_of(count, self._seed, *call.execution, call.attempt, next(drawn))
            try:
                return await node.call(call, lambda: self._answer(use, request, context, call, node))
            finally:
                if context.execution is not None and context.execution.parked is not None and not node.is_dead:
                    self._ledger.park(call)

        return called

    async def _answer(self, use: CapabilityUse, request: Any, context: Any, call: Call, node: Node) -> Any:
        try:
            substitute = self._substitutes.get(use.id)
            if substitute is not None:
                return await substitute.answer(
                    request,
                    context,
                    attempt=(call.execution, call.attempt),
                    made_by=(call.host, call.fence),
                    sleep=node.sleep,
                )
            real = self._real_call(use)
        except TestSetupError as fault:
            # It is the test's and not the capability's: no step fails with it, the test does.
            self._ledger.faults.append(fault)
            node.beat()
            await asyncio.get_running_loop().create_future()
            raise
        return await real(request, context)

    def _real_call(self, use: CapabilityUse) -> Wrapped:
        try:
            return self._real.call(use)
        except CapabilityMissing:
            raise TestSetupError(
                f"{use.id!r} was called and has no answer here: substitute it, or give `with_capabilities` an "
                f"instance of {use.target.__qualname__}"
            ) from None


def uses_by_id(plans: Iterable[Plan[Any, Any]]) -> dict[str, CapabilityUse]:
    """Every capability that the plans call, by id."""
    found: dict[str, CapabilityUse] = {}
    for plan in plans:
        for use in uses_of(plan):
            found.setdefault(use.id, use)
    return found
