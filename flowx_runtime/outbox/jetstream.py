"""Publishes events to a NATS JetStream."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from flowx_runtime.outbox.envelope import CONTENT_TYPE, Envelope
from flowx_runtime.outbox.publisher import PublisherMissing, PublisherUnavailable, PublishRefused

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.client import JetStreamContext

_SUBJECT: Final = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*")


class NatsPublisher:
    """Publishes each event on the subject `<prefix>.<type>` and waits until a stream has stored it.

    The event's id goes with it as `Nats-Msg-Id`: a repetition within the stream's duplicate window is stored once. The
    stream is yours: make one that takes the subjects, with the window and the limits you want.

    Args:
        servers: one or several addresses, `nats://host:4222`.
        prefix: what every subject begins with.
        options: further keywords for `nats.connect`: credentials, certificates.

    Raises:
        PublisherMissing: `nats-py` is not installed.
        ValueError: the prefix cannot be part of a subject.
    """

    def __init__(
        self, servers: str | Sequence[str], *, prefix: str = "flowx", options: Mapping[str, Any] | None = None
    ) -> None:
        try:
            import nats.aio.client  # noqa: F401  # installed or not
        except ImportError as missing:
            raise PublisherMissing("NATS needs nats-py: pip install 'flowx-durable[nats]'") from missing
        if not _SUBJECT.fullmatch(prefix):
            raise ValueError(f"{prefix!r} cannot begin a subject: use words without spaces, `*` and `>`, between dots")
        self._servers = [servers] if isinstance(servers, str) else list(servers)
        self._prefix = prefix
        self._options = dict(options or {})
        self._opening = asyncio.Lock()
        self._client: Client | None = None
        self._stream: JetStreamContext | None = None

    async def publish(self, envelope: Envelope) -> None:
        """Publish the event and wait for the stream's acknowledgement."""
        from nats.errors import Error, MaxPayloadError
        from nats.js.errors import APIError, NoStreamResponseError

        subject = f"{self._prefix}.{envelope.type}"
        if not _SUBJECT.fullmatch(subject):
            raise PublishRefused(f"{subject!r} is no subject: name the event with words between dots")
        headers = {"Nats-Msg-Id": str(envelope.event_id), "content-type": CONTENT_TYPE}
        stream = await self._opened()
        try:
            await stream.publish(subject, envelope.document().encode(), headers=headers)
        except NoStreamResponseError:
            raise PublisherUnavailable(f"no stream takes {subject}: make one that does") from None
        except MaxPayloadError:
            raise PublishRefused("the event is larger than the server takes") from None
        except APIError as error:
            told = f"the stream answered {error.code} ({error.err_code}): {error.description}"
            raise (PublishRefused if error.code == 400 else PublisherUnavailable)(told) from None
        except Error as error:
            raise PublisherUnavailable(f"the event was not acknowledged: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()

    async def _opened(self) -> JetStreamContext:
        """Connects with the first event, on the event loop that publishes. Once connected it reconnects by itself."""
        async with self._opening:
            if self._stream is not None and self._client is not None and not self._client.is_closed:
                return self._stream
            import nats
            from nats.errors import Error

            try:
                self._client = await nats.connect(
                    servers=self._servers, **({"max_reconnect_attempts": -1} | self._options)
                )
            except (Error, OSError) as error:
                raise PublisherUnavailable(f"NATS cannot be reached: {type(error).__name__}") from None
            self._stream = self._client.jetstream()
            return self._stream
