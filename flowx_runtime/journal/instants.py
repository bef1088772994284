"""Instants as a journal takes them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from flowx_runtime.authoring.errors import FlowxError


class NaiveInstant(FlowxError):
    """A date and time without a time zone says no instant."""

    code: ClassVar[str] = "journal.naive_instant"


def aware(moment: datetime) -> datetime:
    """The moment itself.

    Raises:
        NaiveInstant: it has no time zone, and would be read in whatever zone the database's session has.
    """
    if moment.utcoffset() is None:
        raise NaiveInstant(f"{moment.isoformat()} has no time zone: give an aware datetime, for example in UTC")
    return moment
