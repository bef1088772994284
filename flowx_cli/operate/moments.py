"""Moments and spans as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def moment(at: datetime) -> str:
    """To the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def span(length: timedelta) -> str:
    """In the largest unit that fits, such as `3 min`; never negative."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def iso(at: datetime | None) -> str | None:
    """As it stands in a document."""
    return None if at is None else at.astimezone(UTC).isoformat()
