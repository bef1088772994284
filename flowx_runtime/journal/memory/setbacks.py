"""Setbacks in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from uuid import UUID

from flowx_runtime.journal.setbacks import NODE_LOST, Setback


class MemorySetbacks:
    """The setbacks of a journal over a dictionary; whoever commits to an instance takes its setback out."""

    _setbacks: dict[UUID, Setback]
    _clock: Callable[[], datetime]

    def _is_known(self, instance_id: UUID) -> bool:
        raise NotImplementedError

    async def note_setback(self, instance_id: UUID, *, code: str, detail: str, node: str) -> None:
        if self._is_known(instance_id):
            before = self._setbacks.get(instance_id)
            counts_on = before is not None and (before.code != NODE_LOST or code == NODE_LOST)
            times = before.times + 1 if before is not None and counts_on else 1
            self._setbacks[instance_id] = Setback(instance_id, code, detail, node, times, self._clock())

    async def setbacks(self, instance_ids: Collection[UUID]) -> Sequence[Setback]:
        found = [self._setbacks[each] for each in instance_ids if each in self._setbacks]
        return [each for each in found if each.code != NODE_LOST or each.times > 1]
