"""Named sets of policies that a step may carry. Their nesting is fixed by kind, never by order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flowx_runtime.authoring.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after a failure that may pass (CONFLICT, UNAVAILABLE, INTERNAL)."""

    attempts: int
    """Attempts in all, the first included."""
    backoff: Backoff


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Stop calling after `failures` in a row; probe again after `reset_after`."""

    failures: int
    reset_after: str | timedelta


@dataclass(frozen=True, slots=True)
class Bulkhead:
    """At most `max_concurrent` calls in flight per process."""

    max_concurrent: int


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies for one step, kept as a module-level constant so that they have one name."""

    name: str
    timeout: str | timedelta | None = None
    retry: Retry | None = None
    circuit_breaker: CircuitBreaker | None = None
    bulkhead: Bulkhead | None = None
    compensation_retry: Retry | None = None
