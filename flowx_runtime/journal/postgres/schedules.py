"""Schedules on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import moment
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class PostgresSchedules:
    """The schedules of a journal in one table. A save or removal is one statement, settled by the row's revision."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def schedules(self, flow_ids: Collection[str]) -> Sequence[ScheduleRow]:
        return [_read(row) for row in await self._connections.ask(self._sql["schedules"], [list(flow_ids)])]

    async def save_schedule(self, row: ScheduleRow) -> bool:
        statement = "update_schedule" if row.revision else "create_schedule"
        return bool(await self._connections.fetch(self._sql[statement], _parameters(row)))

    async def remove_schedule(self, row: ScheduleRow) -> bool:
        return bool(await self._connections.fetch(self._sql["remove_schedule"], _parameters(row)))


def _parameters(row: ScheduleRow) -> dict[str, Any]:
    planned = [
        {
            "occurrence_at": fire.occurrence_at.isoformat(),
            "flow_version": fire.flow_version,
            "release_at": fire.release_at.isoformat(),
        }
        for fire in row.planned
    ]
    return {name: getattr(row, name) for name in row.__dataclass_fields__} | {"planned": _encode(planned)}


def _read(row: tuple[Any, ...]) -> ScheduleRow:
    flow_id, cron, time_zone, first_version, flow_version, considered_until, planned, *counts = row
    fires = tuple(
        PlannedFire(moment(fire["occurrence_at"]), fire["flow_version"], moment(fire["release_at"])) for fire in planned
    )
    considered = considered_until.astimezone(UTC)
    return ScheduleRow(flow_id, cron, time_zone, first_version, flow_version, considered, fires, *counts)
