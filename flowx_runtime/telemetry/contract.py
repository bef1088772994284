"""What a host reports, and to whom. No payload, key or message of an error is ever in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from flowx_runtime.journal.records import State


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """An instance that is gone on with."""

    flow_id: str
    flow_version: str
    profile: str
    instance_id: UUID
    tenant_id: str | None


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call of a capability: one attempt at a step, or at undoing one."""

    flow_id: str
    instance_id: UUID
    step: str
    capability_id: str
    capability_version: str
    attempt: int
    undoes: str | None
    """The capability whose step it undoes; `None` for a step."""


@dataclass(frozen=True, slots=True)
class FlowRest:
    """How an instance came to rest."""

    state: State
    since_start: timedelta
    """From its start until now."""
    error_code: str | None = None
    error_category: str | None = None


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended."""

    outcome: str
    """`ok`, `failed`, `cancelled`, or `parked` for one that goes on later."""
    error_code: str | None = None
    error_category: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a host has counted since it was made, by (flow, …)."""

    not_runnable: Mapping[tuple[str, str], int]
    """By (flow, version): how often a sweep met an instance whose plan this host does not have."""
    occurrences: Mapping[tuple[str, str], int]
    """By (flow, what): occurrences of schedules that were `fired`, `skipped` or `lost`."""
    events: Mapping[str, int]
    """Events `published`, tries that `failed`, and events `poisoned`."""
    long_histories: Mapping[str, int] = field(default_factory=dict)
    """By flow: instances whose history has passed ten thousand rows."""


class Telemetry(Protocol):
    """Takes the reports of a host. Its methods are quick, and raise nothing."""

    def going_on(self, flow: FlowFacts) -> AbstractContextManager[Callable[[FlowRest], None]]:
        """While an instance is gone on with; what it gives is told how it came to rest.

        It is told nothing where the run stops because somebody else owns the instance, or the journal is away.
        """
        ...

    def calling(self, call: CallFacts) -> AbstractContextManager[Callable[[CallEnd], None]]:
        """While a capability is called; what it gives is told how that ended."""
        ...

    def committed(self, took: timedelta, outcome: str) -> None:
        """A commit was answered: `ok`, `refused`, or `unavailable`."""
        ...

    def woken(self, late: timedelta) -> None:
        """An instance was taken up whose wait ended that long ago."""
        ...

    def leases_lost(self, count: int) -> None:
        """Leases could not be renewed: others go on with the instances."""
        ...

    def counts(self, read: Callable[[], Counts]) -> None:
        """From now on, ask this for what the host has counted, whenever it is wanted."""
        ...
