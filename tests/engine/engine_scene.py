"""A host on a memory journal under a virtual clock, and journals that fail where a test says."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from engine_plans import CLASSES, World

from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.records import Commit, Committed, History, Refused, State

TTL = timedelta(seconds=30)


class VirtualClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self._now = datetime(2031, 5, 6, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by

    def move_to(self, instant: datetime) -> None:
        self._now = max(self._now, instant)


class Crash(JournalUnavailable):
    """The process is gone at this point, as far as the journal can tell."""


class CrashingJournal(MemoryJournal):
    """Counts commits and dies before or after chosen ones."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.commits: list[Commit] = []
        self.crash_before: set[int] = set()
        self.crash_after: set[int] = set()
        self.turns_to_answer = 0
        """How many turns of the event loop pass between a commit and its answer."""

    async def commit(self, commit: Commit) -> Committed | Refused:
        number = len(self.commits)
        self.commits.append(commit)
        if number in self.crash_before:
            raise Crash(f"before commit {number}")
        answer = await super().commit(commit)
        for _ in range(self.turns_to_answer):
            await asyncio.sleep(0)
        if number in self.crash_after:
            raise Crash(f"after commit {number}")
        return answer


async def no_pause(_: timedelta) -> None:
    return None


class Scene:
    """The journal, the clock and the world outlive every host."""

    def __init__(self, *plans: Any) -> None:
        self.plans = plans
        self.clock = VirtualClock()
        self.journal = CrashingJournal(self.clock.now)
        self.world = World()
        self.host = self.new_host()

    def new_host(self, **changes: Any) -> FlowHost:
        """Another process: nothing is shared but the journal and the world."""
        used = {use.target for plan in self.plans for node in plan.nodes for use in _uses(node)}
        capabilities = [cls(self.world) for cls in CLASSES if cls in used]
        settings: dict[str, Any] = {
            "journal": self.journal,
            "clock": self.clock,
            "sweep_interval": None,
            "lease_ttl": TTL,
            "pause": no_pause,
            "random": Random(7),
        }
        self.host = FlowHost(self.plans, capabilities, **(settings | changes))
        return self.host

    async def history(self, instance_id: UUID | None = None) -> History:
        read = await self.journal.read(instance_id or self.only())
        assert read is not None
        return read

    def only(self) -> UUID:
        (instance_id,) = self.journal._entries
        return instance_id

    async def rows(self, instance_id: UUID | None = None) -> list[str]:
        history = await self.history(instance_id)
        return [f"{row.scope}|{row.step_id}|{row.capability_id}|{row.outcome.value}" for row in history.rows]

    async def state(self, instance_id: UUID | None = None) -> State:
        return (await self.history(instance_id)).instance.state

    async def wake(self) -> None:
        """Move the clock to the instant that was recorded first, and sweep."""
        at = await self.journal.next_wake()
        assert at is not None, "nothing is parked"
        self.clock.move_to(at)
        await self.host.sweep_once()

    async def to_the_end(self, instance_id: UUID | None = None, *, passes: int = 200) -> State:
        for _ in range(passes):
            state = await self.state(instance_id)
            if state is not State.SUSPENDED:
                return state
            await self.wake()
        raise AssertionError("it never ends")

    async def recover(self, **changes: Any) -> None:
        """The leases of the dead process run out; a new one sweeps."""
        self.clock.advance(TTL + timedelta(seconds=1))
        await self.new_host(**changes).sweep_once()


def _uses(node: Any) -> list[Any]:
    return [use for use in (getattr(node, "capability", None), getattr(node, "compensation", None)) if use is not None]


def tables_of(scene: Scene) -> str:
    """Everything that a memory journal keeps."""
    return repr([(entry.row, entry.rows, entry.inbox, entry.events) for entry in scene.journal._entries.values()])
