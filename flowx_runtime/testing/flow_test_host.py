"""A host for tests: the production engine, plans and sweeps under a clock that jumps from wake to wake."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.authoring.durations import duration as parsed
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.engine.identity import mint_id, started_id
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Outcome
from flowx_runtime.outbox.publisher import Publisher
from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.answers import Substitute
from flowx_runtime.testing.calls import Calls
from flowx_runtime.testing.driver import Driver
from flowx_runtime.testing.errors import NeverFinishes, TestSetupError
from flowx_runtime.testing.ledger import Call, Ledger
from flowx_runtime.testing.node import Interrupts, Node, NoInterrupts, calling_node
from flowx_runtime.testing.node_journal import NodeJournal
from flowx_runtime.testing.observe import Observed, observe
from flowx_runtime.testing.places import names_of, overlaps
from flowx_runtime.testing.run import FlowRun
from flowx_runtime.testing.stores import Store
from flowx_runtime.testing.trace import Trace
from flowx_runtime.testing.turns import InTurn
from flowx_runtime.testing.virtual_time import DrawsByInstant, VirtualClock, bits_of

__tracebackhide__ = True  # a failed test shows its own lines

LONGEST: Final = timedelta(days=3650)
"""Virtual time that `advance_until_done` goes through before it says that nothing ends."""


class FlowTestHost:
    """Starts flows and moves time. Built by `flow_host(PLAN)` and `build`.

    Time stands still but for `advance`, `advance_until_done` and `run_until`, and for what a run sleeps through
    without parking, as in production a `start` that retries after half a second takes half a second.

    Raises, from whatever moves the run:
        TestSetupError: the test asks for something that cannot be.
        NeverFinishes: nothing can go on.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan[Any, Any]],
        *,
        main: Plan[Any, Any],
        all_plans: Iterable[Plan[Any, Any]],
        substitutes: Mapping[str, Substitute],
        capabilities: Callable[[VirtualClock], Iterable[Any]],
        clock: VirtualClock,
        store: Store,
        seed: int = 0,
        key_ring: KeyRing | None = None,
        publisher: Publisher | None = None,
        interrupts: Interrupts | None = None,
        workers: int = 1,
    ) -> None:
        self.clock = clock
        self.plan = main
        self.runs: list[FlowRun] = []
        self.started_by_themselves: list[FlowRun] = []
        """The runs that a schedule started, or a flow that did not wait for them."""
        self.ledger = Ledger(clock.now, plans.get)
        self._plans = plans
        self._all_plans = tuple(all_plans)
        self._calls = Calls(substitutes, capabilities(clock), ledger=self.ledger, clock=clock, seed=seed)
        self._seed = seed
        self._key_ring = key_ring
        self._publisher = publisher
        self._driver = Driver(
            clock,
            self.ledger,
            store,
            make_host=self._make_host,
            interrupts=interrupts or (InTurn() if any(map(overlaps, self._all_plans)) else NoInterrupts()),
            workers=workers,
            has_schedules=any(plan.schedules for plan in self._all_plans),
        )
        self._looked_up: list[FlowRun] = []
        self._ended_in_memory: dict[UUID, Outcome] = {}
        self._observed: dict[UUID, Observed] = {}
        self._signals = 0
        self._is_checked = False

    async def __aenter__(self) -> FlowTestHost:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        unused = self.unused()
        self._is_checked = True
        if error is None and unused is not None:
            raise TestSetupError(unused)

    @property
    def now(self) -> datetime:
        """The present virtual instant."""
        return self.clock.now()

    @property
    def leases_held(self) -> int:
        """How many instances a host holds at present; a parked one is held by none."""
        mine = (*self.runs, *self.started_by_themselves)
        return sum(self._observed[run.instance_id].leases for run in filter(self.has_begun, mine))

    @property
    def calls(self) -> list[Call]:
        """Every call of every capability, in order, those of hosts that died included."""
        return self.ledger.calls

    @property
    def crashes(self) -> list[str]:
        """Where hosts were killed."""
        return self.ledger.crashes

    async def start(
        self,
        input: Any,
        *,
        flow: Plan[Any, Any] | str | None = None,
        idempotency_key: str | None = None,
        caller: Caller | None = None,
        tenant_id: str | None = None,
    ) -> FlowRun:
        """Start a flow, by default the one the host was built for, and run it until it parks or ends."""
        plan = self.plan if flow is None else flow if isinstance(flow, Plan) else self._plans[flow]
        instance_id = (
            mint_id(self.now, lambda count: bits_of(count, self._seed, len(self.runs), count))
            if idempotency_key is None
            else started_id(plan.flow_id, tenant_id, idempotency_key)
        )

        def starting(host: FlowHost) -> Coroutine[Any, Any, Outcome]:
            return host.run(
                plan,
                input,
                instance_id=instance_id,
                idempotency_key=idempotency_key,
                caller=caller,
                tenant_id=tenant_id,
            )

        run = FlowRun(self, instance_id)
        self.runs.append(run)
        async with self._moving() as driver:
            try:
                outcome = await driver.ask(starting, instance_id)
            except AssertionError:
                raise
            except Exception:
                self.runs.remove(run)  # it was refused
                raise
            if plan.profile is Profile.EPHEMERAL:
                self._ended_in_memory[instance_id] = outcome
        return run

    async def newest(self, flow_id: str) -> FlowRun:
        """The newest instance of a flow that the test did not start itself: a child, or what a schedule started.

        Raises:
            TestSetupError: there is none.
        """
        found = [each for each, name in self.ledger.flows.items() if name == flow_id]
        if not found:
            raise TestSetupError(f"no instance of {flow_id!r} was started yet")
        run = FlowRun(self, found[-1])
        self._looked_up.append(run)
        await self._observe()
        return run

    async def signal(self, run: FlowRun, message: Any, *, delivery_id: str | None = None) -> None:
        """Deliver a signal to a run now."""
        delivery = delivery_id or self._delivery()
        async with self._moving() as driver:
            await driver.ask(lambda host: host.signal(run.instance_id, message, delivery_id=delivery), run.instance_id)

    async def cancel(self, run: FlowRun, reason: str = "") -> None:
        """Ask for a run to be cancelled."""
        async with self._moving() as driver:
            await driver.ask(lambda host: host.cancel(run.instance_id, reason), run.instance_id)

    def signal_at(
        self,
        when: str | timedelta | datetime,
        message: Any,
        *,
        run: FlowRun | None = None,
        delivery_id: str | None = None,
    ) -> None:
        """Have a signal delivered at an instant, or so much later; to the only run, where none is named."""
        at = when if isinstance(when, datetime) else self.now + parsed(when)
        delivery = delivery_id or self._delivery()

        def deliver() -> None:
            target = run or self._only_run()
            self._driver.begin(lambda host: host.signal(target.instance_id, message, delivery_id=delivery))

        self.clock.call_at(at, deliver)

    async def advance(self, duration: str | timedelta) -> None:
        """Let so much time pass: whatever falls due on the way happens at its own instant."""
        until = self.now + parsed(duration)
        async with self._moving() as driver:
            await driver.move(lambda: False, until, is_exact=True)

    async def advance_until_done(self, *, limit: str | timedelta = LONGEST) -> None:
        """Let time pass until every run has ended.

        Raises:
            NeverFinishes: nothing that is due could end them, or it would take longer than the limit.
        """
        until = self.now + parsed(limit)
        async with self._moving() as driver:
            await driver.move(lambda: driver.is_done, until)
            if not driver.is_done:
                raise NeverFinishes(driver.why_not(f"nothing ended within {parsed(limit)}"))

    async def run_until(self, step: str) -> None:
        """Let time pass until a step, by its name or capability, is done for the first time.

        Raises:
            NeverFinishes: the runs ended without it.
        """
        self._check_step(step)
        async with self._moving() as driver:
            await driver.move(lambda: self.ledger.has_row(step) or driver.is_done, self.now + LONGEST)
            if not self.ledger.has_row(step):
                raise NeverFinishes(driver.why_not(f"no run came to {step!r}"))

    def crash_before(self, step: str) -> None:
        """Kill the host just before the first row of a step is written: its effect is there, and no row says so."""
        self._check_step(step)
        self._driver.kill_at.add((step, False))

    def crash_after(self, step: str) -> None:
        """Kill the host just after the first row of a step is written."""
        self._check_step(step)
        self._driver.kill_at.add((step, True))

    async def sleep(self, duration: str | timedelta) -> None:
        """Sleep by the virtual clock; for a substitute that is a function.

        Raises:
            TestSetupError: a test asks for it, which moves time itself.
        """
        node = calling_node()
        if node is None:
            raise TestSetupError("only a capability sleeps: let time pass in a test with `await host.advance(…)`")
        await node.sleep(parsed(duration))

    def trace_of(self, instance_id: UUID) -> Trace:
        """What a run did."""
        return self._observed[instance_id].trace

    def has_begun(self, run: FlowRun) -> bool:
        """Whether there is anything to tell of a run."""
        return run.instance_id in self._observed

    def outcome_of(self, instance_id: UUID) -> Outcome:
        """How a run stands."""
        return self._observed[instance_id].outcome

    def unused(self) -> str | None:
        """What is wrong with the substitutes that nothing called, but for optional ones."""
        unused = self._calls.unused()
        if unused and self.runs and not self._is_checked:
            return f"nothing called {', '.join(map(repr, unused))}: remove the substitute, or mark it optional=True"
        return None

    async def close(self) -> None:
        """Clear everything away. A host that is not closed is cleared away with its event loop."""
        await self._driver.close()

    def _make_host(self, node: Node, journal: NodeJournal) -> FlowHost:
        connected: Any = journal  # what it does not know of a journal it hands on
        return FlowHost(
            self._all_plans,
            journal=connected,
            clock=self.clock,
            owner=f"host-{node.number}",
            sweep_interval=None,
            substitutes=self._calls.of(node, self._all_plans),
            pause=node.sleep,
            timers=node,
            random=DrawsByInstant(self.clock, self._seed),
            key_ring=self._key_ring,
            publisher=self._publisher,
        )

    @asynccontextmanager
    async def _moving(self) -> AsyncIterator[Driver]:
        """Whatever becomes of it, a failed test shows how far its runs came."""
        try:
            yield self._driver
        finally:
            if self._driver.nodes:
                await self._observe()

    async def _observe(self) -> None:
        mine = {run.instance_id for run in (*self.runs, *self.started_by_themselves)}
        self.started_by_themselves += [
            FlowRun(self, each) for each, parent in self.ledger.parents.items() if parent is None and each not in mine
        ]
        for run in (*self.runs, *self.started_by_themselves, *self._looked_up):
            in_memory = self._ended_in_memory.get(run.instance_id)
            if run.instance_id in self.ledger.flows or in_memory is not None:
                self._observed[run.instance_id] = await observe(
                    run.instance_id,
                    journal=self._driver.store.journal,
                    host=self._driver.host,
                    ledger=self.ledger,
                    plans=self._plans,
                    in_memory=in_memory,
                )

    def _only_run(self) -> FlowRun:
        if len(self.runs) != 1:
            raise TestSetupError(f"there are {len(self.runs)} runs: say which one gets the signal with run=…")
        return self.runs[0]

    def _delivery(self) -> str:
        self._signals += 1
        return f"signal-{self._signals}"

    def _check_step(self, step: str) -> None:
        known = {name for plan in self._all_plans for name in names_of(plan)}
        if step not in known:
            raise TestSetupError(f"no flow of this host has a step {step!r}; there are {', '.join(sorted(known))}")
