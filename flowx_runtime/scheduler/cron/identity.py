"""Which instance an occurrence starts, and when within its jitter. Frozen formats: a change fires history again."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

_VERSION_AND_VARIANT: Final = 0xF << 76 | 0b11 << 62
_UUID_8: Final = 8 << 76 | 0b10 << 62


def occurrence_id(flow_id: str, first_version: str, cron: str, time_zone: str, occurrence: datetime) -> UUID:
    """The instance that one occurrence starts, whichever node starts it: a UUIDv8 over SHA-256 of what names it.

    The version is the one that began the schedule, so that an occurrence is one instance across releases.
    """
    instant = occurrence.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256("\0".join((flow_id, first_version, cron, time_zone, instant)).encode()).digest()
    return UUID(int=int.from_bytes(digest[:16], "big") & ~_VERSION_AND_VARIANT | _UUID_8)


def jitter_of(instance_id: UUID, window: timedelta | None) -> timedelta:
    """How long after it is due an occurrence starts: within the window, and the same on every node."""
    return timedelta(0) if window is None else window * ((instance_id.int >> 75) / 2**53)
