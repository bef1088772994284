"""What starts a flow besides code: an HTTP request or a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.authoring.vocabulary import MissedFire

F = TypeVar("F", bound=type)


class ScheduledFire(Contract):
    """The input of a scheduled flow: which occurrence this is."""

    occurrence_at: datetime
    cron: str
    time_zone: str


@dataclass(frozen=True, slots=True)
class HttpTrigger:
    """What `@http_trigger` said."""

    method: str
    route: str
    idempotent: bool


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """What `@cron_trigger` said."""

    expression: str
    time_zone: str
    missed_fire: MissedFire
    jitter: str | timedelta | None


def http_trigger(method: str, route: str, *, idempotent: bool = False) -> Callable[[F], F]:
    """Start the flow from a request; `idempotent` requires an `Idempotency-Key` header."""
    return _declare(HttpTrigger(method, route, idempotent))


def cron_trigger(
    expression: str,
    *,
    time_zone: str = "UTC",
    missed_fire: MissedFire = MissedFire.RUN_ONCE,
    jitter: str | timedelta | None = None,
) -> Callable[[F], F]:
    """Start the flow on a schedule; its input is `ScheduledFire`."""
    return _declare(CronTrigger(expression, time_zone, missed_fire, jitter))


def _declare(trigger: HttpTrigger | CronTrigger) -> Callable[[F], F]:
    def declare(flow: F) -> F:
        earlier: tuple[HttpTrigger | CronTrigger, ...] = flow.__dict__.get("__flowx_triggers__", ())
        # Decorators apply from the bottom up; prepending keeps the order of the source.
        flow.__flowx_triggers__ = (trigger, *earlier)  # type: ignore[attr-defined]  # the mark travels on the class
        return flow

    return declare
