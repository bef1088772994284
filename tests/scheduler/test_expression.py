"""When schedules fire: tables written by hand for the days on which clocks change, and what others got wrong there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_runtime.scheduler.cron.expression import CronExpression, CronUnreadable
from tests.scheduler.cron_scene import utc

BERLIN, NEW_YORK, LORD_HOWE, KOLKATA = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"
TURN_OF_BERLIN, TURN_OF_LORD_HOWE = "2026-10-25T01:00", "2026-04-04T15:00"


def first(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The first occurrences after an instant, in UTC."""
    return [f"{at:%m-%d %H:%M}" for at in islice(CronExpression(cron, zone).after(utc(after)), count)]


# Clocks go from 02:00 to 03:00 on 29 March in Berlin (01:00 UTC) and on 8 March in New York (07:00 UTC), and from 02:00
# to 02:30 on 4 October on Lord Howe (15:30 UTC of the 3rd). They go back from 03:00 to 02:00 on 25 October in Berlin
# (01:00 UTC), from 02:00 to 01:00 on 1 November in New York (06:00 UTC), and from 02:00 to 01:30 on 5 April on Lord
# Howe (15:00 UTC of the 4th). Kolkata, at five hours and a half, changes nothing.
TABLE = [
    # Fixed hours, where an hour is missing: at the first instant that exists.
    ("30 2 * * *", BERLIN, "2026-03-28T00:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
    ("0 2 * * *", BERLIN, "2026-03-28T00:00", ["03-28 01:00", "03-29 01:00", "03-30 00:00"]),
    ("0 3 * * *", BERLIN, "2026-03-28T00:00", ["03-28 02:00", "03-29 01:00", "03-30 01:00"]),
    ("0 2,3 * * *", BERLIN, "2026-03-28T12:00", ["03-29 01:00", "03-30 00:00", "03-30 01:00"]),
    ("5,45 2 * * *", NEW_YORK, "2026-03-07T12:00", ["03-08 07:00", "03-09 06:05", "03-09 06:45"]),
    ("15 2 * * *", LORD_HOWE, "2026-10-02T00:00", ["10-02 15:45", "10-03 15:30", "10-04 15:15"]),
    ("45 2 * * *", LORD_HOWE, "2026-10-02T00:00", ["10-02 16:15", "10-03 15:45", "10-04 15:45"]),
    ("30 2 * * SUN", BERLIN, "2026-03-24T00:00", ["03-29 01:00", "04-05 00:30"]),
    # Fixed hours, where an hour repeats: once, the first time round.
    ("30 2 * * *", BERLIN, "2026-10-24T00:00", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
    ("0 3 * * *", BERLIN, "2026-10-24T02:00", ["10-25 02:00", "10-26 02:00"]),
    ("30 1 * * *", NEW_YORK, "2026-10-31T00:00", ["10-31 05:30", "11-01 05:30", "11-02 06:30"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-03T12:00", ["04-03 14:45", "04-04 14:45", "04-05 15:15"]),
    ("0 2 * * *", LORD_HOWE, "2026-04-03T12:00", ["04-03 15:00", "04-04 15:30", "04-05 15:30"]),
    # A wildcard hour follows elapsed time.
    ("0 * * * *", BERLIN, "2026-03-28T23:00", ["03-29 00:00", "03-29 01:00", "03-29 02:00"]),
    ("30 * * * *", NEW_YORK, "2026-03-08T06:00", ["03-08 06:30", "03-08 07:30", "03-08 08:30"]),
    ("0 * * * *", BERLIN, "2026-10-24T23:00", ["10-25 00:00", "10-25 01:00", "10-25 02:00", "10-25 03:00"]),
    ("*/30 * * * *", NEW_YORK, "2026-11-01T04:30", ["11-01 05:00", "11-01 05:30", "11-01 06:00", "11-01 06:30"]),
    ("*/30 * * * *", LORD_HOWE, "2026-04-04T14:00", ["04-04 14:30", "04-04 15:00", "04-04 15:30", "04-04 16:00"]),
    ("*/20 * * * *", LORD_HOWE, "2026-04-04T14:00", ["04-04 14:20", "04-04 14:40", "04-04 15:10", "04-04 15:30"]),
    ("*/30 * * * *", LORD_HOWE, "2026-10-03T14:40", ["10-03 15:00", "10-03 15:30", "10-03 16:00"]),
    # A wildcard minute within a fixed hour shows the hour's minutes whenever a clock does.
    ("*/30 2 * * *", BERLIN, "2026-03-28T12:00", ["03-30 00:00", "03-30 00:30"]),
    ("*/30 2 * * *", BERLIN, "2026-10-24T12:00", ["10-25 00:00", "10-25 00:30", "10-25 01:00", "10-25 01:30"]),
    ("*/15 2 * * *", LORD_HOWE, "2026-04-04T00:00", ["04-04 15:30", "04-04 15:45", "04-04 16:00", "04-04 16:15"]),
    # Nothing changes.
    ("30 2 * * *", KOLKATA, "2026-03-28T00:00", ["03-28 21:00", "03-29 21:00", "03-30 21:00"]),
    ("0 * * * *", KOLKATA, "2026-10-25T00:00", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
    ("30 2 * * *", "UTC", "2026-03-28T12:00", ["03-29 02:30", "03-30 02:30"]),
    # A whole day that one place did not have, and midnight that another does not have.
    ("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00", ["12-29 22:00", "12-30 10:00", "12-30 22:00"]),
    ("0 0 * * *", "Asia/Beirut", "2026-03-27T12:00", ["03-27 22:00", "03-28 22:00", "03-29 21:00"]),
]


@pytest.mark.parametrize(("cron", "zone", "after", "expected"), TABLE, ids=[f"{row[0]} {row[1]}" for row in TABLE])
def test_the_days_on_which_clocks_change(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert first(cron, zone, after, len(expected)) == expected


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, KOLKATA, "Asia/Beirut"])
@pytest.mark.parametrize(
    "cron", ["30 2 * * *", "5,35 0-3 * * *", "0 0 * * MON", "*/20 * * * *", "10 * * * *", "* 2 1 * *"]
)
@pytest.mark.parametrize(("begin", "finish"), [("2026-03-01", "2026-04-05"), ("2026-10-20", "2026-11-05")])
def test_in_zones_of_whole_hours_it_is_what_the_library_makes_of_it(
    cron: str, zone: str, begin: str, finish: str
) -> None:
    start, end = utc(begin), utc(finish)
    theirs = set()
    for at in CronSim(cron, start.astimezone(ZoneInfo(zone))):
        if at.astimezone(UTC) >= end:
            break
        theirs.add(at.astimezone(UTC))
    ours = list(CronExpression(cron, zone).between(start, end - timedelta(seconds=1)))
    assert set(ours) == theirs
    assert ours == sorted(theirs)


def test_what_runs_all_day_does_not_stop_for_the_repeated_hour() -> None:
    """node-red-contrib-cron-plus#108: an hourly schedule stops for an hour when clocks go back."""
    for cron in ("0 * * * *", "0 */1 * * *", "0 0-23 * * *", "0 0,1,2,3,4-23 * * *"):
        for zone in (BERLIN, NEW_YORK):
            times = list(CronExpression(cron, zone).between(utc("2025-12-31T23:00"), utc("2026-12-31T23:00")))
            assert len(times) == 365 * 24, cron
            assert {later - before for before, later in pairwise(times)} == {timedelta(hours=1)}


def test_what_runs_nightly_runs_once_every_night_whatever_clocks_do() -> None:
    """temporalio/temporal#8205: a nightly schedule fires zero times or twice around the change."""
    for zone in (BERLIN, NEW_YORK, LORD_HOWE, KOLKATA):
        for cron in ("0 2 * * *", "30 1 * * *", "45 2 * * *", "59 1 * * *", "0 3 * * *"):
            local = [
                at.astimezone(ZoneInfo(zone)).date()
                for at in CronExpression(cron, zone).between(utc("2026-01-01T00:00"), utc("2027-12-31T00:00"))
            ]
            days = (local[-1] - local[0]).days + 1
            assert len(local) == len(set(local)) == days, (cron, zone)


@given(
    cron=st.sampled_from([row[0] for row in TABLE]),
    zone=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE]),
    turn=st.sampled_from(
        [TURN_OF_BERLIN, TURN_OF_LORD_HOWE, "2026-03-29T01:00", "2026-10-03T15:30", "2026-11-01T06:00"]
    ),
    seconds=st.integers(-90 * 60, 90 * 60),
)
def test_where_one_begins_to_look_changes_nothing(cron: str, zone: str, turn: str, seconds: int) -> None:
    times = CronExpression(cron, zone)
    start, end = utc(turn) - timedelta(hours=3), utc(turn) + timedelta(days=2)
    middle = utc(turn) + timedelta(seconds=seconds)
    whole = list(times.between(start, end))
    assert [at for at in whole if at > middle] == list(times.between(middle, end))
    assert whole == sorted(set(whole))


def numbers(low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=1, max_size=4, unique=True)


@given(
    minute=numbers(0, 59),
    hours=st.none() | numbers(0, 5),
    zone=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KOLKATA, "Africa/Casablanca"]),
    day=st.sampled_from(
        ["2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-04", "2026-10-03", "2026-02-15"]
    ),
)
def test_a_wildcard_fires_whenever_the_wall_clock_shows_its_time(
    minute: list[int], hours: list[int] | None, zone: str, day: str
) -> None:
    minutes = ",".join(map(str, minute))
    cron = f"{minutes} * * * *" if hours is None else f"*/1,{minutes} {','.join(map(str, hours))} * * *"
    start = utc(f"{day}T00:00")
    shown = [(start + timedelta(minutes=n)).astimezone(ZoneInfo(zone)) for n in range(1, 36 * 60)]
    expected = [at.astimezone(UTC) for at in shown if (at.minute in minute if hours is None else at.hour in hours)]
    assert list(CronExpression(cron, zone).between(start, start + timedelta(hours=36, minutes=-1))) == expected


def test_names_lists_and_last_days_are_read_in_any_case() -> None:
    assert first("0 9 * jan mon-fri", "UTC", "2026-01-01T12:00", 2) == ["01-02 09:00", "01-05 09:00"]
    assert first("0 9 L * *", "UTC", "2026-02-01T00:00", 2) == ["02-28 09:00", "03-31 09:00"]
    assert first("0 0 13 * FRI", "UTC", "2026-02-01T00:00", 3) == ["02-06 00:00", "02-13 00:00", "02-20 00:00"]


def test_an_occurrence_is_an_instant_of_utc_whatever_one_asks_with() -> None:
    asked = datetime.fromisoformat("2026-08-01T18:00:30.5+02:00")
    (at,) = islice(CronExpression("* * * * *", BERLIN).after(asked), 1)
    assert at == utc("2026-08-01T16:01")
    assert at.tzinfo is UTC


@settings(max_examples=200)
@given(
    st.lists(st.text("0123456789*/,-#?LWMONFEB \t\0é", max_size=6), min_size=4, max_size=6).map(" ".join)
    | st.lists(
        st.from_regex(r"(\*|\d{1,2}(-\d{1,2})?)(/\d{1,2})?(,\d{1,2})?", fullmatch=True), min_size=5, max_size=5
    ).map(" ".join)
)
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    try:
        times = CronExpression(text, BERLIN)
    except CronUnreadable as refused:
        sentence = str(refused)
    else:
        assert next(times.after(utc("2026-01-01"))) > utc("2026-01-01")
        return
    assert sentence.startswith(f"the schedule {text!r} ")
    assert "\n" not in sentence


@pytest.mark.parametrize("text", ["0 0 */31 2 MON#5", "0 0 31 2,4,6 *", "0 0 30 FEB *"])
def test_what_no_date_fits_is_refused_at_once(text: str) -> None:
    with pytest.raises(CronUnreadable, match=r"never fires|correct its day of month"):
        CronExpression(text, "UTC")
