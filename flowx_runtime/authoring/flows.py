"""Flows: a class whose `define` the compiler reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from flowx_runtime.authoring.vocabulary import Profile

if TYPE_CHECKING:
    from flowx_runtime.authoring.builder import FlowBuilder

In = TypeVar("In")
Out = TypeVar("Out")
F = TypeVar("F", bound=type)


@dataclass(frozen=True, slots=True)
class FlowDeclaration:
    """What `@flow` said."""

    id: str
    version: str
    profile: Profile
    owner: str | None
    deadline: str | timedelta | None


class Flow(ABC, Generic[In, Out]):
    """A flow from one contract to another. Subclass it, decorate it with `@flow`, write `define`."""

    @abstractmethod
    def define(self, flow: FlowBuilder[In, Out], /) -> None:
        """Describe the flow. The compiler reads this body; nothing ever runs it."""


def flow(
    id: str,
    *,
    version: str,
    profile: Profile = Profile.EPHEMERAL,
    owner: str | None = None,
    deadline: str | timedelta | None = None,
) -> Callable[[F], F]:
    """Name a flow.

    Args:
        id: `domain.verb`; with `version` the identity that instances are pinned to.
        version: SemVer. Move it whenever the flow's meaning changes.
        profile: whether the flow keeps a journal.
        owner: the team to call.
        deadline: the absolute budget of a run, from its start.
    """

    def declare(target: F) -> F:
        target.__flowx_flow__ = FlowDeclaration(id, version, profile, owner, deadline)  # type: ignore[attr-defined]  # the mark travels on the class
        return target

    return declare
