"""How a node publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from flowx_runtime.authoring.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Publishing:
    """The settings of a drain.

    Raises:
        ValueError: they do not fit together.
    """

    interval: timedelta = timedelta(seconds=2)
    """How often to look for events that other nodes left; those of this one are looked for when its runs rest."""
    batch: int = 500
    """About how many events to have in hand at a time."""
    per_instance: int = 128
    """At most so many of them of one instance."""
    concurrency: int = 16
    """How many events, of as many instances, to publish at a time."""
    timeout: timedelta = timedelta(seconds=10)
    """How long one `publish` may take."""
    claim_ttl: timedelta = timedelta(seconds=30)
    """How long a node that dies keeps the events in its hand from others."""
    max_refusals: int = 5
    """After so many tries that were refused an event is set aside."""
    backoff: Backoff = field(default_factory=lambda: Backoff.exponential("PT1S", "PT5M"))
    """How long an event that failed waits before it is tried again."""

    def __post_init__(self) -> None:
        if self.timeout * 2 > self.claim_ttl:
            raise ValueError(
                f"a publish of up to {self.timeout} does not fit twice into a claim of {self.claim_ttl}: "
                "shorten `timeout` or lengthen `claim_ttl`"
            )
        for name in ("batch", "per_instance", "concurrency", "max_refusals"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` of Publishing is at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class PublishCounts:
    """What one node has published since it started."""

    published: int = 0
    failed: int = 0
    """Tries that failed, for whatever reason."""
    poisoned: int = 0
    """Events it set aside."""
