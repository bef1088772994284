"""Instances that a node could not go on with, and how long it leaves each alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from flowx_runtime.authoring.backoff import Backoff

_GAPS: Final = Backoff.exponential("PT10S", "PT1H")


@dataclass(frozen=True, slots=True)
class _Setback:
    times: int
    until: datetime


class Setbacks:
    """Tries what cannot go on later and later.

    The reason may be a value that no longer fits its contract, or a key that is missing. The instance is left as it
    is, so that nothing is lost when the reason is gone.
    """

    def __init__(self) -> None:
        self._by_instance: dict[UUID, _Setback] = {}

    def note(self, instance_id: UUID, now: datetime) -> timedelta:
        """Note one more; gives how long the instance is left alone now."""
        before = self._by_instance.get(instance_id)
        times = 0 if before is None else before.times
        gap = _GAPS.gap(times, draw=0.0)
        self._by_instance[instance_id] = _Setback(times + 1, now + gap)
        return gap

    def forget(self, instance_id: UUID) -> None:
        """It went on."""
        self._by_instance.pop(instance_id, None)

    def is_left_alone(self, instance_id: UUID, now: datetime) -> bool:
        """Whether it is not to be tried yet."""
        setback = self._by_instance.get(instance_id)
        return setback is not None and now < setback.until
