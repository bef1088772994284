"""What takes events to where they are read, and how it says that it could not."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Protocol, runtime_checkable

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.outbox.envelope import Envelope


class PublishRefused(FlowxError):
    """The receiver takes this event neither now nor, probably, later. After a few such tries it is set aside."""

    code: ClassVar[str] = "outbox.refused"


class PublisherUnavailable(FlowxError):
    """Nobody could take an event just now. It is tried again for as long as that lasts, and never set aside for it.

    Args:
        message: what happened.
        retry_after: how long the receiver asked to be left alone, where it said so.
    """

    code: ClassVar[str] = "outbox.unavailable"

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PublisherMissing(FlowxError):
    """A publisher needs a package that is not installed; the message names the extra."""

    code: ClassVar[str] = "outbox.publisher_missing"


class Publisher(Protocol):
    """Hands events on. An object with this one method is a publisher; one that holds connections has `close` too.

    Different instances' events are published at the same time; an instance's one after the other.
    """

    async def publish(self, envelope: Envelope) -> None:
        """Hand an event on, and return when it is safe with the receiver. It may come again: after a crash, for one.

        Raises:
            PublishRefused: it is not taken, because of what it is. Any other exception counts as this.
            PublisherUnavailable: it could not be handed on at present. `TimeoutError` and `OSError` count as this.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """A publisher that holds something to be given back."""

    async def close(self) -> None:
        """Give back what it holds. Called once, after the last `publish`."""
        ...
