"""Publishes events as signed HTTP requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from flowx_runtime.outbox.envelope import CONTENT_TYPE, Envelope
from flowx_runtime.outbox.publisher import PublisherMissing, PublisherUnavailable, PublishRefused
from flowx_runtime.outbox.signing import read_secret, signed_headers

if TYPE_CHECKING:
    import httpx

_MAY_PASS: Final = frozenset({408, 429})
_MOST_READ: Final = 64 * 1024
"""Bytes of an answer. A short one is read, so that its connection can be used again; it is looked at by nobody."""
_LONGEST_ASKED: Final = 3600
"""Seconds. A receiver is left alone for as long as it asks, within reason."""


class WebhookPublisher:
    """Sends each event by POST: CloudEvents JSON, signed after the Standard Webhooks convention.

    An answer of 2xx means taken. One of 408, 429 or 5xx, or none at all, means that nobody could take it now. Every
    other one refuses the event; redirects are not followed. Receivers check with `verify_webhook`.

    Args:
        url: where to; `http` or `https`.
        secret: shared with the receiver, `whsec_…`. While it is being changed, both: the request then has a signature
            by each.
        client: an `httpx.AsyncClient` with proxies, certificates or limits of your own, which you close; by default
            one is made for each publisher.

    Raises:
        PublisherMissing: `httpx` is not installed.
        InvalidWebhookSecret: a secret is not of the right form.
        ValueError: the URL is none.
    """

    def __init__(self, url: str, secret: str | Sequence[str], *, client: httpx.AsyncClient | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the URL of a webhook begins with http:// or https:// and names a host")
        try:
            import httpx
        except ImportError as missing:
            raise PublisherMissing("webhooks need httpx: pip install 'flowx-durable[webhook]'") from missing
        self._keys = [read_secret(each) for each in ([secret] if isinstance(secret, str) else secret)]
        self._url = url
        self._host = parts.hostname
        self._is_ours = client is None
        self._client = client
        self._errors = httpx.HTTPError

    async def publish(self, envelope: Envelope) -> None:
        """Send the event and wait for the answer."""
        body = envelope.document().encode()
        headers = signed_headers(self._keys, str(envelope.event_id), datetime.now(UTC), body)
        headers["content-type"] = CONTENT_TYPE
        client = self._opened()
        try:
            async with client.stream(
                "POST", self._url, content=body, headers=headers, follow_redirects=False
            ) as response:
                read = 0
                async for chunk in response.aiter_raw():
                    read += len(chunk)
                    if read > _MOST_READ:
                        break
        except self._errors as error:
            # The error's own text may hold the URL, and with it somebody's token.
            raise PublisherUnavailable(f"{self._host} did not answer: {type(error).__name__}") from None
        status = response.status_code
        if 200 <= status < 300:
            return
        told = f"{self._host} answered {status}"
        if status in _MAY_PASS or status >= 500:
            raise PublisherUnavailable(told, retry_after=_asked(response.headers.get("retry-after", "")))
        raise PublishRefused(told)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None and self._is_ours:
            await self._client.aclose()

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # Here, and not where it is made: it belongs to the event loop that publishes. How long a publish may take
            # is the drain's to say.
            self._client = httpx.AsyncClient(timeout=None)
        return self._client


def _asked(text: str) -> timedelta | None:
    """`Retry-After` in seconds; a date is not worth a clock that may be off."""
    return timedelta(seconds=min(int(text), _LONGEST_ASKED)) if text.isascii() and text.isdecimal() else None
