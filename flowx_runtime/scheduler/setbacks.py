"""Instances that a node could not go on with, and how long it leaves each alone."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.errors import FlowxError, said_by
from flowx_runtime.journal.setbacks import NODE_LOST, Setback

_GAPS: Final = Backoff.exponential("PT10S", "PT1H")

UNREADABLE: Final = "instance.unreadable"
"""Code of a setback: a stored value does not fit its contract, here and today."""

CANNOT_GO_ON: Final = "instance.cannot_go_on"
"""Code of a setback that has no code of its own."""


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


def is_lost_over(setback: Setback, now: datetime) -> bool:
    """Whether an instance is not to be taken over yet: processes are lost over it, one after the other."""
    return setback.code == NODE_LOST and now < setback.noted_at + _GAPS.gap(setback.times - 2, draw=0.0)


def why(error: Exception) -> tuple[str, str]:
    """The code and the words to keep of what an instance cannot go on for.

    Only errors of flowx itself are quoted: what others say may hold a value that must not be read there.
    """
    if isinstance(error, FlowxError):
        return error.code or CANNOT_GO_ON, said_by(error)
    if isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        places = (f"{'.'.join(map(str, each['loc'])) or 'the value'} ({each['type']})" for each in problems)
        return UNREADABLE, f"a stored value is no {error.title} any more: {', '.join(places)}"
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return CANNOT_GO_ON, f"{type(error).__name__}{at}; the node's log has the rest"
