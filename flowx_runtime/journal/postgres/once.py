"""The records of steps that run at most once, on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any
from uuid import UUID

from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.records import Refusal, Refused, StoredError


class PostgresOnce:
    """The once contract. Every method is one statement, and a transaction of its own."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def once_records(self, instance_id: UUID, path: str) -> Sequence[OnceRecord]:
        rows = await self._connections.fetch(self._sql["once_records"], [instance_id, path, f"{path}/"])
        return [_record(row) for row in rows]

    async def record_once(
        self, instance_id: UUID, records: Sequence[OnceRecord], *, fencing_token: int
    ) -> Refused | None:
        document = json.dumps([_document(record) for record in records])
        ((reason, detail),) = await self._connections.fetch(
            self._sql["record_once"], [instance_id, fencing_token, document]
        )
        return None if reason is None else Refused(Refusal(reason), detail or "")


def _document(record: OnceRecord) -> dict[str, Any]:
    error = record.error
    return {
        "path": record.path,
        "is_done": record.is_done,
        # As a string: the text of a value comes back as it was written.
        "value": record.value,
        "type": record.type,
        "attempts": record.attempts,
        "error": None if error is None else {"code": error.code, "category": error.category, "detail": error.detail},
        "due_at": None if record.due_at is None else record.due_at.isoformat(),
    }


def _record(row: tuple[Any, ...]) -> OnceRecord:
    path, is_done, value, type, attempts, error, due_at = row
    return OnceRecord(
        path=path,
        is_done=is_done,
        value=value,
        type=type,
        attempts=attempts,
        error=None if error is None else StoredError(error["code"], error["category"], error["detail"]),
        due_at=None if due_at is None else due_at.astimezone(UTC),
    )
