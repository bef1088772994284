"""Describes a test host: which flows, what answers for which capability."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.outbox.publisher import Publisher
from flowx_runtime.plan.catalog import Catalog
from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.answers import Substitute
from flowx_runtime.testing.calls import uses_by_id
from flowx_runtime.testing.errors import TestSetupError
from flowx_runtime.testing.flow_test_host import FlowTestHost
from flowx_runtime.testing.node import Interrupts
from flowx_runtime.testing.surroundings import SURROUNDINGS
from flowx_runtime.testing.virtual_time import VirtualClock

__tracebackhide__ = True  # a failed test shows its own lines


def flow_host(plan: Plan[Any, Any], *others: Plan[Any, Any] | Catalog) -> TestHostBuilder:
    """Begin to describe a test host.

    Args:
        plan: the flow that `start` starts.
        others: the plans of its sub-flows, one by one or as the generated `CATALOG`.
    """
    plans = [plan]
    for other in others:
        found = [other.plan(entry.flow_id, entry.version) for entry in other] if isinstance(other, Catalog) else [other]
        plans += [each for each in found if each not in plans]
    return TestHostBuilder(tuple(plans))


@dataclass(frozen=True, slots=True)
class TestHostBuilder:
    """A description of a test host. It never changes; each method gives another, and `build` may be called often."""

    __test__ = False

    plans: tuple[Plan[Any, Any], ...]
    substitutes: tuple[tuple[str, Any, bool], ...] = ()
    capabilities: Callable[..., Iterable[Any]] | None = None
    key_ring: KeyRing | None = None
    publisher: Publisher | None = None
    jitter: int = 0
    interrupts: Interrupts | None = field(default=None, repr=False)
    workers: int = 1

    def substitute(self, capability_id: str, answer: Any, *, optional: bool = False) -> TestHostBuilder:
        """Have something else answer for a capability.

        Args:
            capability_id: as the capability declares it.
            answer: a value, `sequence(…)`, `fails(…)`, `after(…)`, or a function of `(request, ctx)` or less.
            optional: it may go uncalled.

        Raises:
            TestSetupError: no step or undo of the flows calls it, or the answer is not what it declares.
        """
        known = uses_by_id(self.plans)
        if capability_id not in known:
            close = difflib.get_close_matches(capability_id, known, 1)
            hint = f"did you mean {close[0]!r}" if close else f"they call {', '.join(sorted(known))}"
            raise TestSetupError(f"no step or undo of these flows calls {capability_id!r}: {hint}")
        Substitute(known[capability_id], answer, is_optional=optional)
        others = tuple(each for each in self.substitutes if each[0] != capability_id)
        return replace(self, substitutes=(*others, (capability_id, answer, optional)))

    def with_capabilities(self, given: Iterable[Any] | Callable[..., Iterable[Any]]) -> TestHostBuilder:
        """Have real capabilities answer where nothing is substituted.

        Args:
            given: instances of capability classes; or a function that makes them, called once for each host, with the
                host's `VirtualClock` if it needs an argument. Runs that are compared need the function: each gets a
                world of its own.
        """
        if callable(given):
            return replace(self, capabilities=given)
        instances = tuple(given)
        return replace(self, capabilities=lambda: instances)

    def with_key_ring(self, key_ring: KeyRing) -> TestHostBuilder:
        """Seal `Sensitive` members in the journal, so that a run has them after a crash."""
        return replace(self, key_ring=key_ring)

    def with_publisher(self, publisher: Publisher) -> TestHostBuilder:
        """Publish what the flows emit, as often as the host looks for work."""
        return replace(self, publisher=publisher)

    def with_jitter(self, seed: int) -> TestHostBuilder:
        """Draw other gaps between attempts; the same seed draws the same ones."""
        return replace(self, jitter=seed)

    def build(self) -> FlowTestHost:
        """A host in a world of its own."""
        clock = VirtualClock()
        uses = uses_by_id(self.plans)
        host = FlowTestHost(
            {plan.flow_id: plan for plan in reversed(self.plans)},
            main=self.plans[0],
            all_plans=reversed(self.plans),
            substitutes={
                name: Substitute(uses[name], answer, is_optional=optional)
                for name, answer, optional in self.substitutes
            },
            capabilities=lambda clock: _made(self.capabilities or SURROUNDINGS.capabilities, clock),
            clock=clock,
            store=SURROUNDINGS.open_store(clock.now),
            seed=self.jitter,
            key_ring=self.key_ring,
            publisher=self.publisher,
            interrupts=self.interrupts,
            workers=self.workers,
        )
        SURROUNDINGS.hosts.append(host)
        return host


def _made(factory: Callable[..., Iterable[Any]], clock: VirtualClock) -> Iterable[Any]:
    parameters = inspect.signature(factory).parameters.values()
    is_needed = any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)
    return factory(clock) if is_needed else factory()
