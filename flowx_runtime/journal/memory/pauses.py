"""Pauses in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from flowx_runtime.journal.pauses import Pause


class MemoryPauses:
    """The pauses of a journal over a dictionary."""

    _pauses: dict[str, Pause]
    _clock: Callable[[], datetime]

    async def pause(self, target: str, reason: str = "") -> bool:
        if target in self._pauses:
            return False
        self._pauses[target] = Pause(target, reason, self._clock())
        return True

    async def unpause(self, target: str) -> bool:
        return self._pauses.pop(target, None) is not None

    async def pauses(self) -> Sequence[Pause]:
        return [self._pauses[target] for target in sorted(self._pauses)]
