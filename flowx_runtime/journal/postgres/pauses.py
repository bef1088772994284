"""Pauses on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from flowx_runtime.journal.pauses import Pause
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import storable


class PostgresPauses:
    """The pauses of a journal in one table, which is empty where nothing is paused."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def pause(self, target: str, reason: str = "") -> bool:
        return bool(await self._connections.fetch(self._sql["pause"], [target, storable(reason)]))

    async def unpause(self, target: str) -> bool:
        return bool(await self._connections.fetch(self._sql["unpause"], [target]))

    async def pauses(self) -> Sequence[Pause]:
        rows = await self._connections.ask(self._sql["pauses"], ())
        return [Pause(target, reason, paused_at.astimezone(UTC)) for target, reason, paused_at in rows]
