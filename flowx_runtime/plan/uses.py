"""What a plan recorded, at build time, about the declarations it uses.

Each record pairs the live object with the facts the compiler read from its declaration, so that
loading can tell a plan that is older than its code (`flow.plan_stale`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContractUse:
    """A contract and the shape it had."""

    type: type[Any]
    shape: tuple[str, ...] | None
    """Member names in sorted order, `"name?"` where the member has a default; `None` if the compiler could not tell."""


@dataclass(frozen=True, slots=True)
class CapabilityUse:
    """A capability and what its decorator said."""

    target: Callable[..., Any]
    """The class with `execute`, or the function."""
    id: str
    version: str
    request: type[Any]
    result: type[Any] | None
    """`None` for a capability that gives nothing back."""
    idempotent: bool = False
    side_effects: tuple[str, ...] = ()
    has_steps: bool = False
    """Whether its body has steps that run once: what they left is read before it is entered again."""


@dataclass(frozen=True, slots=True)
class SignalUse:
    """A signal contract and the identity senders address."""

    type: type[Any]
    id: str


@dataclass(frozen=True, slots=True)
class EventUse:
    """An event contract, its identity and the SemVer of its shape."""

    type: type[Any]
    id: str
    version: str
