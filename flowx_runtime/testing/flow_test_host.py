"""A host for tests: the production engine, plans and sweeps under a clock that jumps from wake to wake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.authoring.durations import duration as parsed
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.identity import mint_id, started_id
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Outcome
from flowx_runtime.outbox.publisher import Publisher
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.uses import CapabilityUse
from flowx_runtime.testing.answers import Substitute
from flowx_runtime.testing.errors import NeverFinishes, TestSetupError
from flowx_runtime.testing.ledger import Boundary, Call, Ledger
from flowx_runtime.testing.node import Interrupts, Node, NoInterrupts, calling_node
from flowx_runtime.testing.node_journal import LEASES
from flowx_runtime.testing.observe import Observed, observe
from flowx_runtime.testing.places import overlaps
from flowx_runtime.testing.run import FlowRun
from flowx_runtime.testing.stores import Store
from flowx_runtime.testing.trace import Trace
from flowx_runtime.testing.turns import InTurn
from flowx_runtime.testing.virtual_time import DrawsByInstant, VirtualClock, bits_of

__tracebackhide__ = True  # a failed test shows its own lines

LONGEST: Final = timedelta(days=3650)
"""Virtual time that `advance_until_done` goes through before it says that nothing ends."""

_TURNS: Final = 40
"""Turns of the event loop without any event after which everything that is under way sleeps."""

_PATIENCE: Final = 10.0
"""Seconds of real time that a capability may take to answer."""


@dataclass(slots=True)
class _Operation:
    """Something a test asked for; asked again of the next node if its own dies before it is done."""

    make: Callable[[Node], Coroutine[Any, Any, Any]]
    node: Node
    task: asyncio.Task[Any]
    is_asked_again: bool
    is_awaited: bool
    """Whether the test waits for it, and so meets what it raises."""

    def is_done(self) -> bool:
        """Whether it came to an end on the node that was asked last."""
        return self.task.done()


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
        self._plans = plans
        self._all_plans = tuple(all_plans)
        self._substitutes = substitutes
        self._real = Capabilities(capabilities(clock))
        self._store = store
        self._seed = seed
        self._key_ring = key_ring
        self._publisher = publisher
        self._has_schedules = any(plan.schedules for plan in self._all_plans)
        self._interrupts = interrupts or (InTurn() if any(map(overlaps, self._all_plans)) else NoInterrupts())
        self._workers = workers
        self._kill_at: dict[tuple[str, bool], None] = {}
        self.ledger = Ledger(clock.now, plans.get)
        self.runs: list[FlowRun] = []
        self._looked_up: list[FlowRun] = []
        self.started_by_themselves: list[FlowRun] = []
        """The runs that a schedule started, or a flow that did not wait for them."""
        self._nodes: list[Node] = []
        self._graveyard: list[Node] = []
        self._hosts: dict[int, FlowHost] = {}
        self._operations: list[_Operation] = []
        self._ended_in_memory: dict[UUID, Outcome] = {}
        self._observed: dict[UUID, Observed] = {}
        self._swept_at = 0
        self._is_open = False
        self._is_closed = False
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
        return sum(found.leases for found in self._observed.values())

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

        def starting(node: Node) -> Coroutine[Any, Any, Outcome]:
            return self._hosts[node.number].run(
                plan,
                input,
                instance_id=instance_id,
                idempotency_key=idempotency_key,
                caller=caller,
                tenant_id=tenant_id,
            )

        run = FlowRun(self, instance_id)
        self.runs.append(run)
        try:
            outcome = await self._do(instance_id, starting)
        except AssertionError:
            raise
        except Exception:
            self.runs.remove(run)  # it was refused
            raise
        if plan.profile is Profile.EPHEMERAL:
            self._ended_in_memory[instance_id] = outcome
        await self._observe()
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
        delivery = delivery_id or f"signal-{len(self.ledger.boundaries)}"
        await self._do(
            run.instance_id,
            lambda node: self._hosts[node.number].signal(run.instance_id, message, delivery_id=delivery),
        )
        await self._observe()

    async def cancel(self, run: FlowRun, reason: str = "") -> None:
        """Ask for a run to be cancelled."""
        await self._do(run.instance_id, lambda node: self._hosts[node.number].cancel(run.instance_id, reason))
        await self._observe()

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
        delivery = delivery_id or f"signal-at-{at.isoformat()}-{type(message).__qualname__}"

        def deliver() -> None:
            target = run or self._only_run()
            self._begin(lambda node: self._hosts[node.number].signal(target.instance_id, message, delivery_id=delivery))

        self.clock.call_at(at, deliver)

    async def advance(self, duration: str | timedelta) -> None:
        """Let so much time pass: whatever falls due on the way happens at its own instant."""
        until = self.now + parsed(duration)
        await self._until(lambda: False, until, is_exact=True)
        await self._observe()

    async def advance_until_done(self, *, limit: str | timedelta = LONGEST) -> None:
        """Let time pass until every run has ended.

        Raises:
            NeverFinishes: nothing that is due could end them, or it would take longer than the limit.
        """
        until = self.now + parsed(limit)
        await self._until(self._is_done, until)
        if not self._is_done():
            raise NeverFinishes(self._why_not(f"nothing ended within {parsed(limit)}"))
        await self._observe()

    async def run_until(self, step: str) -> None:
        """Let time pass until a step, by its name or capability, is done for the first time.

        Raises:
            NeverFinishes: the runs ended without it.
        """
        self._check_step(step)
        await self._until(lambda: self.ledger.has_row(step) or self._is_done(), self.now + LONGEST)
        if not self.ledger.has_row(step):
            raise NeverFinishes(self._why_not(f"no run came to {step!r}"))
        await self._observe()

    def crash_before(self, step: str) -> None:
        """Kill the host just before the first row of a step is written: its effect is there, and no row says so."""
        self._check_step(step)
        self._kill_at[step, False] = None

    def crash_after(self, step: str) -> None:
        """Kill the host just after the first row of a step is written."""
        self._check_step(step)
        self._kill_at[step, True] = None

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
        unused = sorted(name for name, each in self._substitutes.items() if not (each.is_used or each.is_optional))
        if unused and self.runs and not self._is_checked:
            return f"nothing called {', '.join(map(repr, unused))}: remove the substitute, or mark it optional=True"
        return None

    async def close(self) -> None:
        """Clear everything away. A host that is not closed is cleared away with its event loop."""
        if self._is_closed:
            return
        self._is_closed = True
        for node in (*self._nodes, *self._graveyard):
            node.is_disposed = True
            node.is_dead = True
        tasks = [operation.task for operation in self._operations]
        tasks += [task for node in self._graveyard for task in node.left]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._is_open:
            await self._store.close()

    # What follows moves the run.

    async def _do(self, instance_id: UUID, make: Callable[[Node], Coroutine[Any, Any, Any]]) -> Any:
        await self._open()
        operation = self._begin(make, is_awaited=True)
        crashes = len(self.crashes)

        def is_enough() -> bool:
            # The host that took over goes on with the instance by itself, and not as part of what was asked of it.
            is_left = len(self.crashes) > crashes and self.ledger.is_under_way(instance_id)
            return operation.is_done() and not is_left

        await self._until(is_enough, None)
        return operation.task.result()

    async def _open(self) -> None:
        if not self._is_open:
            await self._store.open()
            self._is_open = True
            for _ in range(self._workers):
                self._add_node()

    def _add_node(self) -> Node:
        node = Node(len(self._nodes) + len(self._graveyard) + 1, self.clock, self.ledger, self)
        journal: Any = self._store.connect(node)
        self._hosts[node.number] = FlowHost(
            self._all_plans,
            journal=journal,
            clock=self.clock,
            owner=f"host-{node.number}",
            sweep_interval=None,
            substitutes={use.id: self._wrapped(use, node) for use in self._uses().values()},
            pause=node.sleep,
            timers=node,
            random=DrawsByInstant(self.clock, self._seed),
            key_ring=self._key_ring,
            publisher=self._publisher,
        )
        self._nodes.append(node)
        return node

    def _begin(
        self, make: Callable[[Node], Coroutine[Any, Any, Any]], on: Node | None = None, *, is_awaited: bool = False
    ) -> _Operation:
        node = on or self._interrupts.pick(self._nodes)
        task = asyncio.create_task(make(node))
        operation = _Operation(make, node, task, is_asked_again=on is None, is_awaited=is_awaited)
        self._operations.append(operation)
        return operation

    def _sweep(self) -> None:
        """Have every node look for what may go on: due by a clock or a schedule, signalled or abandoned."""
        for node in self._nodes:
            self.sweep_on(node)

    def sweep_on(self, node: Node) -> None:
        """Have one node look for what may go on, and publish what was staged."""
        self._begin(self._look, node)

    async def _look(self, node: Node) -> None:
        await self._hosts[node.number].sweep_once()
        await self._hosts[node.number].publish_once()

    async def _next_instant(self) -> datetime | None:
        """The first instant at which something is recorded to happen."""
        taken_up = {instance_id for node in self._nodes for instance_id in node.tokens}
        instants = [self.clock.next_timer(), self.ledger.next_wake(taken_up)]
        if self._has_schedules:
            instants.append(await self._hosts[self._nodes[0].number].next_occurrence())
        return min((instant for instant in instants if instant is not None), default=None)

    async def _until(self, is_enough: Callable[[], bool], horizon: datetime | None, *, is_exact: bool = False) -> None:
        """Move time until it is enough, but not beyond the horizon; to the horizon itself where that is exact."""
        try:
            await self._move(is_enough, horizon, is_exact=is_exact)
        except AssertionError:
            await self._observe()  # so that the failed test shows how far its runs came
            raise

    async def _move(self, is_enough: Callable[[], bool], horizon: datetime | None, *, is_exact: bool) -> None:
        await self._open()
        while True:
            await self._rest()
            if self._swept_at != (left := self.ledger.may_go_on()):
                self._swept_at = left
                self._sweep()
                continue
            if is_enough():
                return
            instant = await self._next_instant()
            if horizon is not None and (instant is None or instant > horizon):
                if is_exact:
                    self.clock.move_to(horizon)
                    self._sweep()
                    await self._rest()
                return
            if instant is None:
                raise NeverFinishes(self._why_not("nothing is recorded to happen"))
            before = len(self.ledger.boundaries)
            is_past = instant <= self.now
            self.clock.move_to(instant)
            self._sweep()
            await self._rest()
            if is_past and before == len(self.ledger.boundaries):
                raise NeverFinishes(self._why_not("what is due is taken up by nobody"))

    async def _rest(self) -> None:
        """Return when nothing goes on without the clock: all is done, parked, or asleep."""
        quiet = 0
        while True:
            self._collect()
            if any(node.is_dead for node in self._nodes):
                await self._take_over()
                quiet = 0
            if self.ledger.faults:
                raise TestSetupError(*self.ledger.faults[0].args)
            if not self._operations:
                return
            pulse = sum(node.pulse for node in self._nodes)
            await asyncio.sleep(0)
            if pulse != sum(node.pulse for node in self._nodes):
                quiet = 0
                continue
            if any(node.busy for node in self._nodes):
                await self._wait_for_real()
                quiet = 0
                continue
            quiet += 1
            if quiet < _TURNS:
                continue
            if not await self._interrupts.give_turn(self):
                return
            quiet = 0

    async def _wait_for_real(self) -> None:
        """Something real is under way: a database, a thread, a socket."""
        for node in self._nodes:
            node.moved.clear()
        moves = [asyncio.ensure_future(node.moved.wait()) for node in self._nodes]
        moved, pending = await asyncio.wait(moves, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        for each in pending:
            each.cancel()
        if not moved:
            raise NeverFinishes(self._why_not(f"nothing answered for {_PATIENCE:.0f} seconds of real time"))

    def _collect(self) -> None:
        """Let go of what is done; what a sweep or a scheduled signal raised is the test's to know."""
        for operation in [each for each in self._operations if each.task.done()]:
            self._operations.remove(operation)
            if not operation.is_awaited:
                operation.task.result()

    async def _take_over(self) -> None:
        """Another node goes on in a dead one's place: its leases are over, its memory is lost."""
        for dead in [node for node in self._nodes if node.is_dead]:
            self._nodes.remove(dead)
            self._graveyard.append(dead)
            node = self._add_node()
            await self.lose_leases(dead)
            for operation in [each for each in self._operations if each.node is dead and not each.task.done()]:
                dead.bury(operation.task)
                if operation.is_asked_again:
                    operation.node, operation.task = node, asyncio.create_task(operation.make(node))
                else:
                    self._operations.remove(operation)
            self.sweep_on(node)

    async def lose_leases(self, node: Node) -> None:
        """End a node's leases, as their running out would."""
        for instance_id, token in list(node.tokens.items()):
            await self._store.journal.release(instance_id, fencing_token=token)
        node.tokens.clear()

    @property
    def nodes(self) -> Sequence[Node]:
        """The hosts that live."""
        return self._nodes

    # What nodes ask.

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        """Whether a node dies here."""
        for step in boundary.steps:
            if (step, is_done) in self._kill_at:
                del self._kill_at[step, is_done]
                return True
        return self._interrupts.kills(boundary, is_done=is_done)

    async def turn(self, node: Node, what: str) -> None:
        """Wait for one's turn, where an order is imposed."""
        await self._interrupts.turn(node, what)

    def _uses(self) -> dict[str, CapabilityUse]:
        return uses_of(self._all_plans)

    def _wrapped(self, use: CapabilityUse, node: Node) -> Callable[[Any, Any], Awaitable[Any]]:
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
                at=self.now,
                fence=LEASES.get().get(context.instance_id, 0),
            )
            drawn = iter(range(1_000_000))
            context.randbits = lambda count: bits_of(count, self._seed, *call.execution, call.attempt, next(drawn))
            try:
                return await node.call(call, lambda: self._answer(use, request, context, call, node))
            finally:
                if context.execution is not None and context.execution.parked is not None and not node.is_dead:
                    self.ledger.park(call)

        return called

    async def _answer(self, use: CapabilityUse, request: Any, context: Any, call: Call, node: Node) -> Any:
        try:
            substitute = self._substitutes.get(use.id)
            if substitute is not None:
                return await substitute.answer(request, context, (call.execution, call.attempt), node.sleep)
            real = self._real_call(use)
        except TestSetupError as fault:
            # It is the test's and not the capability's: no step fails with it, the test does.
            self.ledger.faults.append(fault)
            node.beat()
            await asyncio.get_running_loop().create_future()
            raise
        return await real(request, context)

    def _real_call(self, use: CapabilityUse) -> Callable[[Any, Any], Awaitable[Any]]:
        from flowx_runtime.engine.capabilities import CapabilityMissing

        try:
            return self._real.call(use)
        except CapabilityMissing:
            raise TestSetupError(
                f"{use.id!r} was called and has no answer here: substitute it, or give `with_capabilities` an "
                f"instance of {use.target.__qualname__}"
            ) from None

    # What a test reads.

    async def _observe(self) -> None:
        mine = {run.instance_id for run in (*self.runs, *self.started_by_themselves)}
        self.started_by_themselves += [
            FlowRun(self, each) for each, parent in self.ledger.parents.items() if parent is None and each not in mine
        ]
        for run in (*self.runs, *self.started_by_themselves, *self._looked_up):
            if run.instance_id not in self.ledger.flows and run.instance_id not in self._ended_in_memory:
                continue
            self._observed[run.instance_id] = await observe(
                run.instance_id,
                journal=self._store.journal,
                host=self._hosts[self._nodes[0].number],
                ledger=self.ledger,
                plans=self._plans,
                in_memory=self._ended_in_memory.get(run.instance_id),
            )

    def _is_done(self) -> bool:
        return not self._operations and not any(self.ledger.is_open(instance_id) for instance_id in self.ledger.flows)

    def _only_run(self) -> FlowRun:
        if len(self.runs) != 1:
            raise TestSetupError(f"there are {len(self.runs)} runs: say which one gets the signal with run=…")
        return self.runs[0]

    def _check_step(self, step: str) -> None:
        known = {name for plan in self._all_plans for node in plan.nodes for name in _names(node)}
        if step not in known:
            raise TestSetupError(f"no flow of this host has a step {step!r}; there are {', '.join(sorted(known))}")

    def _why_not(self, reason: str) -> str:
        lines = [reason[0].upper() + reason[1:] + "."]
        for instance_id in self.ledger.flows:
            if self.ledger.is_open(instance_id):
                lines.append(f"  {self.ledger.flows[instance_id]} is {self.ledger.states[instance_id].value}")
                for wait in self.ledger.waits.get(instance_id, ()):
                    ending = f" or signal {wait.signal_id!r}" if wait.signal_id else ""
                    lines.append(f"    it waits at step {wait.step_id} until {wait.wake_at}{ending}")
        under_way = [call for call in self.ledger.calls if not call.has_answered and call.host in self._living()]
        lines += [f"  {call.capability_id} has not answered since {call.at}" for call in under_way[-5:]]
        if any(wait.signal_id for waits in self.ledger.waits.values() for wait in waits):
            lines.append("  A run that waits for a signal goes on with `await run.signal(…)` or `host.signal_at(…)`.")
        return "\n".join(lines)

    def _living(self) -> set[int]:
        return {node.number for node in self._nodes}


def uses_of(plans: Iterable[Plan[Any, Any]]) -> dict[str, CapabilityUse]:
    """Every capability that a step or an undo of the plans calls, by id."""
    found: dict[str, CapabilityUse] = {}
    for plan in plans:
        for node in plan.nodes:
            for use in (getattr(node, "capability", None), getattr(node, "compensation", None)):
                if isinstance(use, CapabilityUse):
                    found.setdefault(use.id, use)
    return found


def _names(node: Any) -> list[str]:
    uses = (getattr(node, "capability", None), getattr(node, "compensation", None), getattr(node, "signal", None))
    named = [getattr(node, "name", "")] + [use.id for use in uses if use is not None]
    return [name for name in named if name]
