"""Who may run a capability, which every capability says by one of four stances, and who asks."""

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


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody whom the host's authenticator knows, and what they may do."""

    name: str
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Somebody from outside whom nobody knows."""


Caller = Principal | Anonymous
"""Who asks from outside. Where there is none, the application itself asks, or the platform goes on with what was begun:
a timer, a recovery."""
