"""Capabilities: one request, one result, and a stance on who may ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from flowx_runtime.authoring.authorization import Authorization
from flowx_runtime.authoring.errors import FlowError

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class CapabilityDeclaration:
    """What `@capability` said."""

    id: str
    version: str
    authorization: Authorization
    idempotent: bool
    side_effects: tuple[str, ...]
    errors: tuple[type[FlowError], ...] | None
    deprecated: str | None


def capability(
    id: str,
    *,
    version: str,
    authorization: Authorization,
    idempotent: bool = False,
    side_effects: tuple[str, ...] = (),
    errors: tuple[type[FlowError], ...] | None = None,
    deprecated: str | None = None,
) -> Callable[[C], C]:
    """Declare a class with `execute(request, ctx)`, or a function `(request, ctx)`, as a capability.

    Args:
        id: `domain.verb`, unique with the major of `version`.
        version: SemVer of the capability's contract.
        authorization: who may run it; there is no default.
        idempotent: calling again with the same key and request is harmless.
        side_effects: names of what it changes outside.
        errors: the complete catalogue of business errors; `None` lets the compiler derive it.
        deprecated: what to use instead.
    """
    declaration = CapabilityDeclaration(id, version, authorization, idempotent, tuple(side_effects), errors, deprecated)

    def declare(target: C) -> C:
        target.__flowx_capability__ = declaration  # type: ignore[attr-defined]  # the mark travels on the object
        return target

    return declare


def capability_declaration(target: object) -> CapabilityDeclaration | None:
    """What `@capability` said about exactly this class or function (not about a base of it)."""
    declared = getattr(target, "__dict__", {}).get("__flowx_capability__")
    return declared if isinstance(declared, CapabilityDeclaration) else None
