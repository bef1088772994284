"""Durations as authors write them: ISO-8601 text of days at most, or a `timedelta`.

Compiler and runtime share this one parser, so that a text which builds also runs.
"""

from __future__ import annotations

import re
from datetime import timedelta

_ISO_8601 = re.compile(
    r"P(?:(?P<weeks>\d+)W|(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,6})?)S)?)?)"
)


class InvalidDuration(ValueError):
    """A text that is not an ISO-8601 duration of days, hours, minutes and seconds."""


def parse_duration(text: str) -> timedelta:
    """Read `"P7D"`, `"PT5S"`, `"P1DT2H30M"`.

    Months and years are refused: their length depends on the calendar day they start on, and a
    wait must mean the same on every day.

    Raises:
        InvalidDuration: the text is of another form, or too long for a `timedelta`.
    """
    match = _ISO_8601.fullmatch(text)
    if match is None or text in ("P", "PT"):
        raise InvalidDuration(
            f"{text!r} is not an ISO-8601 duration of days at most: write for example 'PT5S', 'PT4H' or 'P7D'"
        )
    parts = {unit: float(amount) for unit, amount in match.groupdict(default="0").items()}
    try:
        return timedelta(**parts)
    except OverflowError as error:
        raise InvalidDuration(f"{text!r} is longer than a timedelta can be (999 999 999 days)") from error


def duration(value: str | timedelta) -> timedelta:
    """Give the `timedelta` that an authored duration means."""
    return parse_duration(value) if isinstance(value, str) else value


def format_duration(value: timedelta) -> str:
    """Write a duration in the one canonical form that the manifest publishes (`"P1DT2H"`, `"PT0S"`)."""
    sign = "-" if value < timedelta(0) else ""
    value = abs(value)
    hours, rest = divmod(value.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    time = f"{hours}H" if hours else ""
    time += f"{minutes}M" if minutes else ""
    if seconds or value.microseconds:
        fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
        time += f"{seconds}{fraction}S"
    days = f"{value.days}D" if value.days else ""
    if not days and not time:
        return "PT0S"
    return f"{sign}P{days}" + (f"T{time}" if time else "")
