"""Contracts that cross a flow's border: events go out, signals come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

C = TypeVar("C", bound=type)


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """What `@event` said."""

    id: str
    version: str


@dataclass(frozen=True, slots=True)
class SignalDeclaration:
    """What `@signal` said."""

    id: str


def event(id: str, *, version: str) -> Callable[[C], C]:
    """Name a contract that flows publish, with the SemVer of its shape."""

    def declare(contract: C) -> C:
        contract.__flowx_event__ = EventDeclaration(id, version)  # type: ignore[attr-defined]  # the mark travels on the class
        return contract

    return declare


def signal(id: str) -> Callable[[C], C]:
    """Name a contract that is delivered to a waiting flow."""

    def declare(contract: C) -> C:
        contract.__flowx_signal__ = SignalDeclaration(id)  # type: ignore[attr-defined]  # the mark travels on the class
        return contract

    return declare


def event_declaration(contract: type) -> EventDeclaration | None:
    """What `@event` said about exactly this class (not about a base of it)."""
    declared = contract.__dict__.get("__flowx_event__")
    return declared if isinstance(declared, EventDeclaration) else None


def signal_declaration(contract: type) -> SignalDeclaration | None:
    """What `@signal` said about exactly this class (not about a base of it)."""
    declared = contract.__dict__.get("__flowx_signal__")
    return declared if isinstance(declared, SignalDeclaration) else None
