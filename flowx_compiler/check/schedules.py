"""Whether a schedule's texts mean something to the host that will read them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

_ANY_TIME = datetime(2024, 1, 1)  # noqa: DTZ001  a calendar time, in no zone


def why_unreadable(expression: str) -> str | None:
    """What is wrong with a cron expression; `None` for one that fires."""
    from cronsim import CronSim, CronSimError  # only projects with schedules pay for it

    fields = expression.split()
    if len(fields) != 5:
        return f"has {len(fields)} fields, not five"
    try:
        next(CronSim(expression, _ANY_TIME))
    except CronSimError as error:
        return f"does not say its {str(error).removeprefix('Bad ').replace('-', ' ')} as cron reads it"
    except StopIteration:
        return "never fires: no date fits it"
    return None


def is_time_zone(name: str) -> bool:
    """Whether the tz database has a zone of that name."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # no such name, not a name at all, or a folder
        return False
    return True
