"""Shows an instance's rows as they appear: SQL as an operator would type it, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

INSTANCE = "select state, wake_at, wake_step_id, wake_scope from flowx.flow_instance where instance_id = %s"
LEASES = "select count(*) from flowx.flow_lease where instance_id = %s and expires_at > now()"
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
    shown: int = 0

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
            line = f"  {scope:>5} | {step_id} | {capability_id:<20} | {outcome:<11}"
            self.say(f"{line} ← {remark}" if remark else line.rstrip())
        self.shown = len(rows)

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
