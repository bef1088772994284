"""Moves a run: asks nodes, lets them come to rest, jumps to the next instant, puts a node in a dead one's place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.testing.errors import NeverFinishes, TestSetupError
from flowx_runtime.testing.ledger import Boundary, Ledger
from flowx_runtime.testing.node import Interrupts, Node, calling_node
from flowx_runtime.testing.node_journal import NodeJournal
from flowx_runtime.testing.stores import Store
from flowx_runtime.testing.stuck import why_not
from flowx_runtime.testing.virtual_time import VirtualClock

__tracebackhide__ = True  # a failed test shows its own lines

_TURNS: Final = 40
"""Turns of the event loop without any event after which everything that is under way sleeps."""

PATIENCE = 10.0
"""Seconds of real time that a capability may take to answer."""

COURTESY = 2.0
"""Seconds of real time after which somebody else has a turn although one that had it has not come to rest."""

Asked: TypeAlias = Callable[[FlowHost], Coroutine[Any, Any, Any]]
"""What a host is asked to do."""


@dataclass(slots=True)
class _Operation:
    """Something a node was asked to do."""

    asked: Asked
    node: Node
    task: asyncio.Task[Any]
    is_asked_again: bool
    """Whether the next node is asked for it, if its own dies before it is done."""
    is_awaited: bool
    """Whether the test waits for it, and so meets what it raises."""


class Driver:
    """The nodes of one test host and what they are doing."""

    def __init__(
        self,
        clock: VirtualClock,
        ledger: Ledger,
        store: Store,
        *,
        make_host: Callable[[Node, NodeJournal], FlowHost],
        interrupts: Interrupts,
        workers: int,
        has_schedules: bool,
    ) -> None:
        self.store = store
        self.nodes: list[Node] = []
        """Those that live."""
        self.kill_at: set[tuple[str, bool]] = set()
        """Steps, and whether to die just after their row or just before it."""
        self._clock = clock
        self._ledger = ledger
        self._make_host = make_host
        self._interrupts = interrupts
        self._workers = workers
        self._has_schedules = has_schedules
        self._graveyard: list[Node] = []
        self._hosts: dict[int, FlowHost] = {}
        self._operations: list[_Operation] = []
        self._swept_at = 0
        self._opening, self._moving = asyncio.Lock(), asyncio.Lock()
        self._is_open = False
        self._is_closed = False

    @property
    def host(self) -> FlowHost:
        """A host that lives."""
        return self._hosts[self.nodes[0].number]

    @property
    def is_done(self) -> bool:
        """Whether every instance has ended and nothing is under way."""
        return not self._operations and not any(map(self._ledger.is_open, self._ledger.flows))

    async def ask(self, asked: Asked, instance_id: UUID) -> Any:
        """Have a host do something with an instance, and let it come to rest; time passes while it sleeps."""
        await self._open()
        operation = self.begin(asked, is_awaited=True)
        crashes = len(self._ledger.crashes)

        def is_enough() -> bool:
            # The host that took over goes on with the instance by itself, and not as part of what was asked of it.
            is_left = len(self._ledger.crashes) > crashes and self._ledger.is_under_way(instance_id)
            return operation.task.done() and not is_left

        await self.move(is_enough, None)
        return operation.task.result()

    def begin(self, asked: Asked, on: Node | None = None, *, is_awaited: bool = False) -> _Operation:
        """Ask a node for something, any node unless it says otherwise."""
        node = on or self._interrupts.pick(self.nodes)
        task = asyncio.create_task(asked(self._hosts[node.number]))
        operation = _Operation(asked, node, task, is_asked_again=on is None, is_awaited=is_awaited)
        self._operations.append(operation)
        return operation

    async def move(self, is_enough: Callable[[], bool], horizon: datetime | None, *, is_exact: bool = False) -> None:
        """Move time until it is enough, but not beyond the horizon; to the horizon itself where that is exact.

        Raises:
            NeverFinishes: nothing is recorded to happen, or what is due cannot go on.
            TestSetupError: the test was met with something that cannot be.
        """
        await self._open()
        async with self._moving:  # starts that are gathered share one clock
            await self._move(is_enough, horizon, is_exact=is_exact)

    async def _move(self, is_enough: Callable[[], bool], horizon: datetime | None, *, is_exact: bool) -> None:
        while True:
            await self._rest()
            if self._swept_at != (left := self._ledger.may_go_on()):
                self._swept_at = left
                self._sweep()
                continue
            if is_enough():
                return
            instant = await self._next_instant()
            if horizon is not None and (instant is None or instant > horizon):
                if is_exact:
                    self._clock.move_to(horizon)
                    self._sweep()
                    await self._rest()
                return
            if instant is None:
                raise NeverFinishes(self.why_not("nothing is recorded to happen"))
            before = len(self._ledger.boundaries)
            is_past = instant <= self._clock.now()
            self._clock.move_to(instant)
            self._sweep()
            await self._rest()
            if is_past and before == len(self._ledger.boundaries):
                raise NeverFinishes(self.why_not("what is due is taken up by nobody"))

    def sweep_on(self, node: Node) -> None:
        """Have one node look for what may go on, and publish what was staged."""
        self.begin(_look, node)

    async def lose_leases(self, node: Node) -> None:
        """End a node's leases, as their running out would."""
        for instance_id, token in list(node.tokens.items()):
            await self.store.journal.release(instance_id, fencing_token=token)
        node.tokens.clear()

    def why_not(self, reason: str) -> str:
        """What waits for what."""
        return why_not(reason, self._ledger, {node.number for node in self.nodes})

    async def close(self) -> None:
        """Clear everything away."""
        if self._is_closed:
            return
        self._is_closed = True
        for node in (*self.nodes, *self._graveyard):
            node.is_disposed = node.is_dead = True
        tasks = [operation.task for operation in self._operations]
        tasks += [task for node in self._graveyard for task in node.left]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._is_open:
            await self.store.close()

    # What nodes ask.

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        """Whether a node dies here."""
        for step in boundary.steps:
            if (step, is_done) in self.kill_at:
                self.kill_at.remove((step, is_done))
                return True
        return self._interrupts.kills(boundary, is_done=is_done)

    async def turn(self, node: Node, what: str) -> None:
        """Wait for one's turn, where an order is imposed."""
        await self._interrupts.turn(node, what)

    # How a pass goes on.

    async def _open(self) -> None:
        if calling_node() is not None:
            raise TestSetupError(
                "a capability cannot drive the host that called it: use `host.signal_at(…)` in the test"
            )
        async with self._opening:
            if not self._is_open:
                await self.store.open()
                self._is_open = True
                for _ in range(self._workers):
                    self._add_node()

    def _add_node(self) -> Node:
        node = Node(len(self.nodes) + len(self._graveyard) + 1, self._clock, self._ledger, self)
        self._hosts[node.number] = self._make_host(node, self.store.connect(node))
        self.nodes.append(node)
        return node

    def _sweep(self) -> None:
        """Have every node look for what may go on: due by a clock or a schedule, signalled or abandoned."""
        for node in self.nodes:
            self.sweep_on(node)

    async def _next_instant(self) -> datetime | None:
        """The first instant at which something is recorded to happen."""
        taken_up = {instance_id for node in self.nodes for instance_id in node.tokens}
        instants = [self._clock.next_timer(), self._ledger.next_wake(taken_up)]
        if self._has_schedules:
            instants.append(await self.host.next_occurrence())
        return min((instant for instant in instants if instant is not None), default=None)

    async def _rest(self) -> None:
        """Return when nothing goes on without the clock: all is done, parked, or asleep."""
        quiet = 0
        while True:
            self._collect()
            if any(node.is_dead for node in self.nodes):
                await self._take_over()
                quiet = 0
            if self._ledger.faults:
                raise TestSetupError(*self._ledger.faults[0].args)
            if not self._operations:
                return
            pulse = _pulse(self.nodes)
            await asyncio.sleep(0)
            if pulse != _pulse(self.nodes):
                quiet = 0
            elif any(node.busy for node in self.nodes):
                # What is under way may itself wait for one whose turn it is not.
                is_moved = await self._is_moved_within(COURTESY) or await self._interrupts.give_turn(self)
                if not is_moved and not await self._is_moved_within(PATIENCE):
                    raise NeverFinishes(self.why_not(f"nothing answered for {PATIENCE:.0f} seconds of real time"))
                quiet = 0
            elif quiet < _TURNS:
                quiet += 1
            elif await self._interrupts.give_turn(self):
                quiet = 0
            else:
                return

    async def _is_moved_within(self, seconds: float) -> bool:
        """Wait for something real that is under way: a database, a thread, a socket."""
        for node in self.nodes:
            node.moved.clear()
        moves = [asyncio.ensure_future(node.moved.wait()) for node in self.nodes]
        moved, pending = await asyncio.wait(moves, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in pending:
            each.cancel()
        return bool(moved)

    def _collect(self) -> None:
        """Let go of what is done; what a sweep or a scheduled signal raised is the test's to know."""
        for operation in [each for each in self._operations if each.task.done()]:
            self._operations.remove(operation)
            if not operation.is_awaited:
                operation.task.result()

    async def _take_over(self) -> None:
        """Put another node in a dead one's place: its leases are over, its memory is lost."""
        for dead in [node for node in self.nodes if node.is_dead]:
            self.nodes.remove(dead)
            self._graveyard.append(dead)
            node = self._add_node()
            await self.lose_leases(dead)
            for operation in [each for each in self._operations if each.node is dead and not each.task.done()]:
                dead.left.append(operation.task)
                if operation.is_asked_again:
                    operation.node = node
                    operation.task = asyncio.create_task(operation.asked(self._hosts[node.number]))
                else:
                    self._operations.remove(operation)
            self.sweep_on(node)


async def _look(host: FlowHost) -> None:
    await host.sweep_once()
    await host.publish_once()


def _pulse(nodes: Sequence[Node]) -> int:
    return sum(node.pulse for node in nodes)
