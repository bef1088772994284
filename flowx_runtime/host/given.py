"""What callers give a host, looked at before anything is done with it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from flowx_runtime.authoring.durations import InvalidDuration, duration
from flowx_runtime.engine.session import CHILD_DELIVERY
from flowx_runtime.host.errors import NotADuration, NotAnInstanceId, NotStorableText

LONGEST_NAME: Final = 512
"""Characters of a key, an id or a tenant; an index has to hold them."""


def checked_id(given: UUID) -> UUID:
    """The id itself.

    Raises:
        NotAnInstanceId: it is of another type, a string for example.
    """
    if not isinstance(given, UUID):
        raise NotAnInstanceId(f"{given!r:.60} is not an instance id: give a uuid.UUID, such as a start returns")
    return given


def checked_duration(what: str, given: timedelta | str) -> timedelta:
    """The duration itself; a text as authors write them.

    Raises:
        NotADuration: it is neither, or it is negative.
    """
    try:
        found = duration(given)
    except InvalidDuration as wrong:
        raise NotADuration(f"{what}: {wrong}") from None
    if not isinstance(found, timedelta) or found < timedelta(0):
        raise NotADuration(f"{what} is {given!r:.60}: give a `timedelta`, or a text such as 'PT10S'")
    return found


def checked_delivery_id(given: str | None) -> None:
    """Let the id of a delivery pass that could not be one of the engine's own.

    Raises:
        NotStorableText: as `checked_text`, or it could.
    """
    checked_text("delivery id", given)
    if given is not None and given.startswith(CHILD_DELIVERY):
        raise NotStorableText(
            f"the delivery id begins with {CHILD_DELIVERY!r}, by which a child tells its end: begin it otherwise"
        )


def checked_text(what: str, given: str | None) -> None:
    """Let a text pass that every store keeps as it is.

    Raises:
        NotStorableText: it is no string, too long, or has a character that cannot be stored.
    """
    if given is None:
        return
    if not isinstance(given, str):
        raise NotStorableText(f"the {what} is of type {type(given).__name__}: give a string")
    if len(given) > LONGEST_NAME:
        raise NotStorableText(f"the {what} has {len(given)} characters: give one of at most {LONGEST_NAME}")
    if "\x00" in given:
        raise NotStorableText(f"the {what} has a NUL character, which PostgreSQL does not store: leave it out")
    if not given.isascii() and any("\ud800" <= character <= "\udfff" for character in given):
        raise NotStorableText(f"the {what} has half a surrogate pair, which is no character: leave it out")
