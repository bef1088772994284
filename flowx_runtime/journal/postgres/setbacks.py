"""Setbacks on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from uuid import UUID

from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import storable
from flowx_runtime.journal.setbacks import Setback


class PostgresSetbacks:
    """The setbacks of a journal in one table. What was committed since decides whether one still counts."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def note_setback(self, instance_id: UUID, *, code: str, detail: str, node: str) -> None:
        parameters = [code, storable(detail), node, instance_id]
        await self._connections.fetch(self._sql["note_setback"], parameters)

    async def setbacks(self, instance_ids: Collection[UUID]) -> Sequence[Setback]:
        rows = await self._connections.ask(self._sql["setbacks"], [list(instance_ids)])
        return [
            Setback(instance_id, code, detail, node, times, noted_at.astimezone(UTC))
            for instance_id, code, detail, node, times, noted_at in rows
        ]
