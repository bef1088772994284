"""Who may run a capability. Every capability says one of these four stances."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Public:
    """Anybody, signed in or not; somebody approved that by name."""

    approved_by: str


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Any signed-in principal."""


@dataclass(frozen=True, slots=True)
class Permission:
    """A principal that holds the named permission."""

    name: str


@dataclass(frozen=True, slots=True)
class Internal:
    """Nobody from outside: only flows that the platform itself continues or composes."""


Authorization = Public | Authenticated | Permission | Internal
