"""When a flow starts by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flowx_runtime.authoring.vocabulary import MissedFire


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What `@cron_trigger` said of a flow."""

    cron: str
    """The author's own text: the ids of the instances it starts are derived from it."""
    time_zone: str
    """A name of the tz database."""
    missed_fire: MissedFire = MissedFire.RUN_ONCE
    jitter: timedelta | None = None
    """The window over which starts are spread; `None` starts each when it is due."""
