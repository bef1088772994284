"""The records of steps that run at most once, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import Refusal, Refused


class MemoryOnce:
    """The once contract over dictionaries. No method awaits, so that on one event loop each of them is atomic."""

    _once: dict[UUID, dict[str, OnceRecord]]

    def _write_refused(self, instance_id: UUID, fencing_token: int) -> Refused | None:
        """Why nothing may be written to an instance under a fencing token."""
        raise NotImplementedError

    async def once_records(self, instance_id: UUID, path: str) -> Sequence[OnceRecord]:
        kept = self._once.get(instance_id, {})
        return [kept[at] for at in sorted(kept) if at == path or at.startswith(f"{path}/")]

    async def record_once(
        self, instance_id: UUID, records: Sequence[OnceRecord], *, fencing_token: int
    ) -> Refused | None:
        refused = self._write_refused(instance_id, fencing_token)
        if refused is not None:
            return refused
        kept = self._once.setdefault(instance_id, {})
        for record in records:
            if record.path in kept and kept[record.path].is_done:
                return Refused(Refusal.DUPLICATE_STEP, record.path)
        kept.update({record.path: record for record in records})
        return None
