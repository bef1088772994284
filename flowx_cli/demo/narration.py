"""Shows an instance's rows as they appear: SQL as an operator would type it, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

INSTANCE = "select state, wake_at, wake_step_id, wake_scope from flowx.flow_instance where instance_id = %s"
LEASES = "select count(*) from flowx.flow_lease where instance_id = %s and expires_at > now()"
ONCE = (
    "select path, is_done, attempts, due_at from flowx.flow_once where instance_id = %s and attempts > 0 order by path"
)
ROWS = "select scope, step_id, capability_id, outcome from flowx.flow_step where instance_id = %s order by sequence"
EVENTS = "select type, payload from flowx.outbox_event where instance_id = %s order by event_sequence"

Say = Callable[[str], None]


@dataclass(slots=True)
class Narrator:
    """Reads one instance's rows and says what is new."""

    connection: psycopg.AsyncConnection[Any]
    instance_id: UUID
    say: Say
    remarks: Mapping[str, str]
    digits: int = 1
    """How wide the number of a node is."""
    width: int = 20
    """How wide the name of a capability is."""
    shown: int = 0
    shown_once: list[tuple[Any, ...]] = field(default_factory=list)

    async def show_parked(self) -> None:
        """The instance row with its wake, and the leases it holds."""
        await self._show(INSTANCE)
        await self._show(LEASES)

    async def show_new_rows(self) -> None:
        """Step rows committed since the last look."""
        rows = await self._fetch(ROWS)
        if rows and not self.shown:
            self.say(f"\n{_typed(ROWS)}")
        for scope, step_id, capability_id, outcome in rows[self.shown :]:
            remark = self.remarks.get(capability_id, "")
            line = f"  {scope:>5} | {step_id:>{self.digits}} | {capability_id:<{self.width}} | {outcome:<11}"
            self.say(f"{line} ← {remark}" if remark else line.rstrip())
        self.shown = len(rows)

    async def show_new_steps_inside(self) -> None:
        """The records of steps inside capabilities that changed since the last look."""
        records = await self._fetch(ONCE)
        changed = [record for record in records if record not in self.shown_once]
        if changed and not self.shown_once:
            self.say(f"\n{_typed(ONCE)}")
        for path, is_done, attempts, due_at in changed:
            again = "" if due_at is None or is_done else f"  ← parked until {due_at:%H:%M:%S}: no task, no lease"
            self.say(f"  {path:<48} {'done' if is_done else 'failed':<6} {attempts}{again}")
        self.shown_once = records

    async def show_events(self) -> None:
        """Events staged in the commits of the rows above."""
        if await self._fetch(EVENTS):
            await self._show(EVENTS)

    async def _show(self, query: str) -> None:
        self.say(f"\n{_typed(query)}")
        for row in await self._fetch(query):
            self.say("  " + " | ".join("" if value is None else str(value) for value in row))

    async def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            # A listing repeats through this one connection; it never reads inside an open transaction.
            await cursor.execute(query.encode(), (self.instance_id,))
            return await cursor.fetchall()


def _typed(query: str) -> str:
    return query.replace("%s", "'…'") + ";"
