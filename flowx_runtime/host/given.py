"""What callers give a host, looked at before anything is done with it."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from flowx_runtime.host.errors import NotAnInstanceId, NotStorableText

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
