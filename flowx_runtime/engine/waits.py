"""What to do with a wait, decided from facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from flowx_runtime.authoring.backoff import Backoff


class Verdict(Enum):
    """What a wait does next."""

    PARK = auto()
    OVER = auto()
    """The clock ended it: a delay is done, a timeout has come."""
    ATTEMPT = auto()
    """A poll asks again."""


def earliest(*instants: datetime | None) -> datetime:
    """The first of the instants there are. A parked instance is woken by its deadline too, to time out."""
    return min(instant for instant in instants if instant is not None)


def due_at(*, recorded: datetime | None, now: datetime, duration: timedelta) -> datetime:
    """When a wait ends by the clock: as recorded when it parked, or from now if it opens only now."""
    return recorded if recorded is not None else now + duration


@dataclass(frozen=True, slots=True)
class PollFacts:
    """What is known of a poll whose predicate does not hold and whose signal has not come."""

    attempts: int
    """Attempts that were answered."""
    first_attempt: datetime | None
    """The clock that attempt 0 captured."""
    recorded: datetime | None
    """The wake instant that was recorded after the last attempt; none where it was made in this very pass, which
    therefore parks: there is one attempt per invocation."""
    has_begun_next: bool = False
    """The next attempt was made, failed, and is to be made again by its policy: the schedule has been waited for."""


@dataclass(frozen=True, slots=True)
class PollVerdict:
    """What a poll does next and, if it parks, until when."""

    verdict: Verdict
    wake_at: datetime | None = None


def judge_poll(
    facts: PollFacts,
    *,
    interval: Backoff,
    budget: timedelta,
    now: datetime,
    deadline: datetime | None,
    draw: float,
) -> PollVerdict:
    """Attempt, park or give up.

    The budget runs from the clock that attempt 0 captured, which is the clock that decides whether the next is due.
    """
    if facts.first_attempt is None or facts.has_begun_next:
        return PollVerdict(Verdict.ATTEMPT)
    ends_at = facts.first_attempt + budget
    is_spent = interval.attempts is not None and facts.attempts >= interval.attempts
    if now >= ends_at or is_spent:
        return PollVerdict(Verdict.OVER)
    if facts.recorded is not None and now >= facts.recorded:
        return PollVerdict(Verdict.ATTEMPT)
    next_attempt = facts.recorded or now + interval.gap(facts.attempts - 1, draw=draw)
    return PollVerdict(Verdict.PARK, earliest(next_attempt, ends_at, deadline))
