"""One process of a test: a real host, its connection to the journal, and the way it dies.

A node that is killed goes no further: no journal call returns, no capability takes another step, no `finally` runs,
no lease is given up. Its tasks are simply left, as those of a killed process are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

from flowx_runtime.engine.clock import Limit
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.testing.ledger import Boundary, Call, Ledger
from flowx_runtime.testing.virtual_time import Timer, VirtualClock, VirtualLimit

__tracebackhide__ = True  # a failed test shows its own lines

_UNDER_WAY: ContextVar[_Activity | None] = ContextVar("flowx_testing_call", default=None)
"""The call of a capability that this context is part of."""


@dataclass(slots=True)
class _Activity:
    """One call of a capability, and how many of its tasks wait for the clock or for their turn."""

    node: Node
    idle: int = 0


def calling_node() -> Node | None:
    """The node whose capability is asking."""
    activity = _UNDER_WAY.get()
    return None if activity is None else activity.node


class Deaths(Protocol):
    """Decides where nodes die and when they go on."""

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        """Whether the node dies just before a write, or just after it when it is done."""
        ...

    async def turn(self, node: Node, what: str) -> None:
        """Return when this node may do what it is about to do."""
        ...


class Interrupts(Deaths, Protocol):
    """Decides as well whose turn it is."""

    async def give_turn(self, host: Any) -> bool:
        """Let one of those that wait for their turn go on; whether there was one."""
        ...

    def pick(self, nodes: Sequence[Node]) -> Node:
        """The node that is asked."""
        ...


class NoInterrupts:
    """Nothing dies; everybody goes on at once."""

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        return False

    async def turn(self, node: Node, what: str) -> None:
        return None

    async def give_turn(self, host: Any) -> bool:
        return False

    def pick(self, nodes: Sequence[Node]) -> Node:
        return nodes[0]


class Node:
    """What one process knows: nothing survives it but the journal and the world."""

    def __init__(self, number: int, clock: VirtualClock, ledger: Ledger, interrupts: Deaths) -> None:
        self.number = number
        self.clock = clock
        self.ledger = ledger
        self.interrupts = interrupts
        self.is_dead = False
        self.is_disposed = False
        """Killed, and now its tasks are being cleared away: nothing may hang any more."""
        self.busy = 0
        """Journal and capability calls under way that do not wait for the virtual clock."""
        self.pulse = 0
        """Rises whenever something begins or ends."""
        self.moved = asyncio.Event()
        self.tokens: dict[UUID, int] = {}
        """The leases it holds."""
        self.left: list[asyncio.Task[Any]] = []
        """The tasks it left when it died: kept, so that nothing ends them before everything is cleared away."""
        self._timers: list[Timer] = []

    def beat(self) -> None:
        """Note that something happened."""
        self.pulse += 1
        self.moved.set()

    def kill(self, where: str) -> None:
        """Die here and now."""
        if not self.is_dead:
            self.is_dead = True
            self.ledger.crashes.append(where)
            for timer in self._timers:
                timer.cancel()
            self.beat()

    async def go_on(self) -> None:
        """Return at once; in a node that is dead, never.

        Raises:
            JournalUnavailable: the node is being cleared away.
        """
        if not self.is_dead:
            return
        if self.is_disposed:
            raise JournalUnavailable("this host was killed")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.is_disposed = True

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Something real is under way: the clock must not jump over it."""
        self.busy += 1
        self.beat()
        try:
            yield
        finally:
            self.busy -= 1
            self.beat()

    async def sleep(self, duration: timedelta) -> None:
        """Sleep by the virtual clock."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self.call_after(duration, wake)
        try:
            with self._idle():
                await woken
        finally:
            timer.cancel()
        await self.go_on()

    async def turn(self, what: str) -> None:
        """Return when this node may do what it is about to do."""
        with self._idle():
            await self.interrupts.turn(self, what)
        await self.go_on()

    @contextmanager
    def _idle(self) -> Iterator[None]:
        """What waits inside a call for the clock or for its turn is nothing that the clock has to wait for."""
        activity = _UNDER_WAY.get()
        if activity is None or activity.node is not self:
            yield
            return
        activity.idle += 1
        self.busy -= activity.idle == 1
        self.beat()
        try:
            yield
        finally:
            activity.idle -= 1
            self.busy += activity.idle == 0
            self.beat()

    def call_after(self, duration: timedelta, fire: Callable[[], object]) -> Timer:
        """Have something happen so much later, unless the node dies before."""
        self._timers = [timer for timer in self._timers if timer.is_live]
        timer = self.clock.call_at(self.clock.now() + duration, fire)
        self._timers.append(timer)
        return timer

    def limit(self, duration: timedelta) -> Limit:
        """A block that may take so long by the virtual clock."""
        return VirtualLimit(self.call_after, duration)

    def monotonic(self) -> float:
        """Seconds of the virtual clock."""
        return self.clock.monotonic()

    async def call(self, call: Call, answer: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Have a capability answer."""
        await self.turn(f"call {call}")
        self.ledger.begin(call)
        under_way = _UNDER_WAY.set(_Activity(self))
        try:
            async with self.work():
                given = await _UntilDeath(self, answer())
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.ledger.end(call, error=error)
            raise
        finally:
            _UNDER_WAY.reset(under_way)
        self.ledger.end(call, answer=given)
        return given


class _UntilDeath:
    """A coroutine that takes no further step once its node is dead, not even to clean up."""

    def __init__(self, node: Node, work: Coroutine[Any, Any, Any]) -> None:
        self._node = node
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        node, work = self._node, self._work
        step: Callable[[], Any] = lambda: work.send(None)  # noqa: E731
        while True:
            try:
                wanted = step()
            except StopIteration as done:
                return done.value
            try:
                yield wanted
            except BaseException as error:
                if node.is_dead:
                    node.is_disposed = True
                    self._close()
                    raise
                step = _throwing(work, error)
            else:
                if node.is_dead:
                    try:
                        yield from node.go_on().__await__()
                    finally:
                        self._close()
                step = lambda: work.send(None)  # noqa: E731

    def _close(self) -> None:
        """Let go of it when the test is over; here, because a context variable is reset only where it was set."""
        with suppress(Exception):
            self._work.close()


def _throwing(work: Coroutine[Any, Any, Any], error: BaseException) -> Callable[[], Any]:
    return lambda: work.throw(error)
