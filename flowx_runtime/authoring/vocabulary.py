"""The closed sets of words that declarations choose from."""

from __future__ import annotations

from enum import Enum


class Profile(Enum):
    """Whether a flow keeps a journal."""

    EPHEMERAL = "ephemeral"
    """Runs in memory; a crash loses it. The default."""
    DURABLE = "durable"
    """Every step is a committed row; a crash resumes on another node."""


class Category(Enum):
    """What kind of failure an error is. The set is closed: a new meaning is a new code."""

    VALIDATION = "validation"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    FORBIDDEN = "forbidden"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class SubFlowMode(Enum):
    """Whether a parent waits for the flow it starts."""

    INLINE = "inline"
    DETACHED = "detached"


class MissedFire(Enum):
    """What a schedule does with occurrences that fell due while nothing was running."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
