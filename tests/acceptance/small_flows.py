"""Small hand-written plans, one question each, and nodes that run them on one database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar, TypeAlias

from flowx_runtime import (
    Category,
    Contract,
    FlowError,
    FlowHost,
    Internal,
    MemoryJournal,
    PostgresJournal,
    Profile,
    StepContext,
    capability,
    event,
    signal,
)
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.records import Commit, Committed, Refused
from flowx_runtime.plan import FORMAT, CapabilityUse, EventUse, Plan, SignalUse, Step
from tests.acceptance.conftest import Database, VirtualClock

DAY = timedelta(days=1)


class Order(Contract):
    name: str


class Note(Contract):
    text: str


class Status(Contract):
    is_done: bool


@signal("order.approved")
class Approved(Contract):
    by: str


@signal("order.paid")
class Paid(Contract):
    reference: str


@event("order.noted", version="1.0.0")
class Noted(Contract):
    name: str


class OutOfStock(FlowError, code="order.out_of_stock", category=Category.CONFLICT):
    """There is none left."""


class Forbidden(FlowError, code="order.forbidden", category=Category.FORBIDDEN):
    """It may not be ordered."""


APPROVED = SignalUse(Approved, "order.approved")
PAID = SignalUse(Paid, "order.paid")
NOTED = EventUse(Noted, "order.noted", "1.0.0")
ORDER = Order(name="o")

Answer: TypeAlias = Callable[[Any, StepContext], Awaitable[Any]]


@cache
def use(capability_id: str, request: type[Any] = Order, result: type[Any] | None = Note) -> CapabilityUse:
    """A capability that a `World` answers for."""

    @capability(capability_id, version="1.0.0", authorization=Internal(), idempotent=True)
    async def nobody(request: Any, ctx: StepContext) -> Any:
        raise NotImplementedError

    return CapabilityUse(nobody, capability_id, "1.0.0", request, result, idempotent=True)


def step(index: int, capability_id: str, *, undo: str | None = None, **changes: Any) -> Step:
    """A step, under the name of its capability where it is given none; its undo is given the request."""
    request, result = changes.pop("takes", Order), changes.pop("gives", Note)
    name = changes.pop("name", capability_id)
    compensation = None if undo is None else use(undo, request, None)
    return Step(index, name, use(capability_id, request, result), compensation=compensation, **changes)


def plan(*nodes: Any, **changes: Any) -> Plan[Any, Any]:
    facts: dict[str, Any] = {
        "format": FORMAT,
        "flow_id": "order.place",
        "version": "1.0.0",
        "digest": "d1",
        "profile": Profile.DURABLE,
        "input": Order,
        "output": None,
        "nodes": nodes,
    }
    return Plan(**(facts | changes))


@dataclass
class World:
    """Everything outside: what was done to it, in order, and how it answers. It outlives every node."""

    effects: list[str] = field(default_factory=list)
    calls: list[StepContext] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)

    def substitutes(self, *plans: Plan[Any, Any]) -> dict[str, Callable[..., Any]]:
        return {each.id: self._answering(each) for plan in plans for each in _uses(plan)}

    def _answering(self, asked: CapabilityUse) -> Answer:
        async def answer(request: Any, ctx: StepContext) -> Any:
            self.calls.append(ctx)
            given = await self.answers[asked.id](request, ctx) if asked.id in self.answers else None
            self.effects.append(f"{asked.id}({_shown(request)})")
            return asked.result(text=asked.id) if given is None and asked.result is Note else given

        return answer

    def keys(self, capability_id: str) -> list[str]:
        """The idempotency keys under which a capability was called."""
        return [ctx.idempotency_key for ctx in self.calls if ctx.capability_id == capability_id]


def raising(error: type[Exception], *, times: int = 10**9) -> Answer:
    """Fails so many times, then answers."""
    calls = iter(range(times))

    async def answer(request: Any, ctx: StepContext) -> Any:
        if next(calls, None) is not None:
            raise error

    return answer


class Crash(JournalUnavailable):
    """The process is gone at this point, as far as the journal can tell."""


class CrashingJournal(PostgresJournal):
    """Dies before or after chosen commits, counted over all of its kind."""

    commits: ClassVar[int] = 0
    before: ClassVar[frozenset[int]] = frozenset()
    after: ClassVar[frozenset[int]] = frozenset()

    @classmethod
    def crash(cls, *, before: set[int] | None = None, after: set[int] | None = None) -> None:
        """Begin to count anew."""
        cls.commits, cls.before, cls.after = 0, frozenset(before or ()), frozenset(after or ())

    async def commit(self, commit: Commit) -> Committed | Refused:
        number = CrashingJournal.commits
        CrashingJournal.commits += 1
        if number in self.before:
            raise Crash(f"before commit {number}")
        answer = await super().commit(commit)
        if number in self.after:
            raise Crash(f"after commit {number}")
        return answer


async def no_pause(_: timedelta) -> None:
    return None


@asynccontextmanager
async def node(
    database: Database,
    clock: VirtualClock,
    world: World,
    *plans: Plan[Any, Any],
    journal: type[PostgresJournal] | MemoryJournal = PostgresJournal,
    **changes: Any,
) -> AsyncIterator[FlowHost]:
    """A process: nothing is shared with another but the database, the clock and the world."""
    settings: dict[str, Any] = {"clock": clock, "sweep_interval": None, "pause": no_pause}
    opened: Journal
    if isinstance(journal, MemoryJournal):
        opened = journal
    else:
        opened = await journal.open(database.dsn, schema=database.schema)
    substitutes = {**world.substitutes(*plans), **changes.pop("substitutes", {})}
    async with FlowHost(plans, journal=opened, substitutes=substitutes, **(settings | changes)) as host:
        yield host


async def until(holds: Callable[[], Awaitable[bool]], *, within: float = 30.0) -> None:
    """Wait for what somebody else does."""
    async with asyncio.timeout(within):
        while not await holds():  # noqa: ASYNC110  only the rows tell how far it is
            await asyncio.sleep(0.005)


async def to_the_end(database: Database, clock: VirtualClock, host: FlowHost, *, passes: int = 100) -> None:
    """Move the clock to the next recorded instant and sweep, until nothing is open; crashes are recovered from."""
    for _ in range(passes):
        open_waits = database.rows(
            "select min(wake_at), count(*) from flow_instance "
            "where state not in ('Completed', 'Failed', 'TimedOut', 'CompensationFailed', 'Cancelled')"
        )
        wake_at, count = open_waits[0]
        if not count:
            return
        if wake_at is not None:
            clock.move_to(wake_at)
        database.expire_leases()
        await host.sweep_once()
    raise AssertionError("it never ends")


def _uses(plan: Plan[Any, Any]) -> Iterator[CapabilityUse]:
    for each in plan.nodes:
        if isinstance(each, Step):
            yield each.capability
            if each.compensation is not None:
                yield each.compensation


def _shown(request: Any) -> str:
    return str(getattr(request, "name", None) or getattr(request, "text", ""))
