"""Cron expressions on the clocks of time zones. The only module that knows the cron library.

The library reads the expression and walks the calendar, without a zone. What a calendar time means on the day a clock
is changed is decided here, by the rules of Debian's cron:

* A schedule of fixed hours fires once at each of its times: the first time round where a time comes twice, and at
  the first instant after the gap where a time does not exist.
* A schedule with a wildcard hour or minute, or with all 24 hours, fires whenever the wall clock shows one of its
  times: through a repeated hour as through any other, and not for times that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from flowx_runtime.authoring.errors import FlowxError

_MINUTE: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_ANY_TIME: Final = datetime(2024, 1, 1)  # noqa: DTZ001  a calendar time, in no zone


class CronUnreadable(FlowxError):
    """A schedule's expression is not one of five fields that cron reads."""

    code: ClassVar[str] = "schedule.cron_unreadable"


class TimeZoneUnknown(FlowxError):
    """A schedule's time zone is not in the tz database of this machine."""

    code: ClassVar[str] = "schedule.time_zone_unknown"


class CronExpression:
    """One schedule's times: the expression and the zone on whose clocks it is read.

    Raises:
        CronUnreadable: the expression cannot be read, or never fires.
        TimeZoneUnknown: there is no such zone here.
    """

    __slots__ = ("_is_fixed", "_text", "_zone")

    def __init__(self, text: str, time_zone: str) -> None:
        self._zone = _zone(time_zone)
        self._text = text
        fields = text.split()
        if len(fields) != 5:
            raise CronUnreadable(
                f"the schedule {text!r} is not five fields: write minute, hour, day of the month, month and day of the "
                "week, such as '0 2 * * *'"
            )
        try:
            calendar = CronSim(text, _ANY_TIME)
            next(calendar)
        except CronSimError as error:
            field = str(error).removeprefix("Bad ").replace("-", " ")
            raise CronUnreadable(f"the schedule {text!r} cannot be read: correct its {field}") from None
        except StopIteration:
            raise CronUnreadable(f"the schedule {text!r} never fires: no date fits it") from None
        self._is_fixed = not (fields[0].startswith("*") or fields[1].startswith("*") or len(calendar.hours) == 24)

    def after(self, instant: datetime) -> Iterator[datetime]:
        """The occurrences after an instant, ascending, without end.

        Where one begins to look never changes which there are.
        """
        return self._fixed(instant) if self._is_fixed else self._by_the_wall(instant)

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """The occurrences after one instant, up to and including another."""
        for occurrence in self.after(after):
            if occurrence > until:
                return
            yield occurrence

    def _fixed(self, instant: datetime) -> Iterator[datetime]:
        last = instant.astimezone(UTC)
        for shown in CronSim(self._text, _wall(instant, self._zone)):
            occurrence = self._first_at(shown)
            if occurrence > last:  # two times in one gap are one occurrence, and a repeated hour has been fired
                yield occurrence
                last = occurrence

    def _by_the_wall(self, instant: datetime) -> Iterator[datetime]:
        """Walk the calendar for as long as the clock is not changed, then begin again on the changed clock."""
        now = instant.astimezone(UTC)
        shown = _wall(now, self._zone)
        while True:
            offset = _offset(now, self._zone)
            for match in CronSim(self._text, shown):
                occurrence = match.replace(tzinfo=UTC) - offset
                change = _first_change(now, occurrence, self._zone)
                if change is not None:
                    now, shown = change, _wall(change, self._zone) - _SECOND
                    break
                yield occurrence
                now = occurrence
            else:
                return  # no date of the next fifty years fits

    def _first_at(self, shown: datetime) -> datetime:
        """The first instant at which the clock shows a time, or has passed it."""
        before = shown.replace(tzinfo=self._zone, fold=0).astimezone(UTC)
        if _wall(before, self._zone) == shown:
            return before
        # In a gap the time read by the clock before it lies after the change, and by the clock after it before.
        change = _first_change(shown.replace(tzinfo=self._zone, fold=1).astimezone(UTC), before, self._zone)
        assert change is not None, "a time that does not exist lies between two clocks"
        return change


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # no such name, not a name at all, or a folder
        raise TimeZoneUnknown(
            f"the time zone {name!r} is not in this machine's tz database: correct the name (such as 'Europe/Berlin'), "
            "or update the `tzdata` package"
        ) from None


def _wall(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(instant: datetime, zone: tzinfo) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def _first_change(after: datetime, until: datetime, zone: tzinfo) -> datetime | None:
    """The first instant of the next offset, if the clock is changed after one instant and up to another.

    Looks once a day: no zone changes its clock and takes it back within one.
    """
    offset, low = _offset(after, zone), after
    while low < until:
        high = min(low + _DAY, until)
        if _offset(high, zone) != offset:
            break
        low = high
    else:
        return None
    low = low.replace(microsecond=0)
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        low, high = (middle, high) if _offset(middle, zone) == offset else (low, middle)
    return high
