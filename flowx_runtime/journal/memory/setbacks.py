"""Setbacks in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from uuid import UUID

from flowx_runtime.journal.setbacks import Setback


class MemorySetbacks:
    """The setbacks of a journal over a dictionary; whoever commits to an instance takes its setback out."""

    _setbacks: dict[UUID, Setback]
    _clock: Callable[[], datetime]

    def _is_known(self, instance_id: UUID) -> bool:
        raise NotImplementedError

    async def note_setback(self, instance_id: UUID, *, code: str, detail: str, node: str) -> None:
        if self._is_known(instance_id):
            before = self._setbacks.get(instance_id)
            times = 1 if before is None else before.times + 1
            self._setbacks[instance_id] = Setback(instance_id, code, detail, node, times, self._clock())

    async def setbacks(self, instance_ids: Collection[UUID]) -> Sequence[Setback]:
        return [self._setbacks[each] for each in instance_ids if each in self._setbacks]
