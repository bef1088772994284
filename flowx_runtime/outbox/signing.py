"""Signatures of webhooks after the Standard Webhooks convention: HMAC-SHA256 over id, timestamp and body.

A receiver needs nothing but this module and the secret.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from flowx_runtime.authoring.errors import FlowxError

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"

_PREFIX: Final = "whsec_"
_VERSION: Final = "v1"
_KEY_BYTES: Final = range(24, 65)


class InvalidWebhookSecret(FlowxError):
    """A secret that cannot be used as it is given."""

    code: ClassVar[str] = "webhook.invalid_secret"


class WebhookNotGenuine(FlowxError):
    """A request that was not signed with the secret, or not lately: answer it with 401 and do nothing else."""

    code: ClassVar[str] = "webhook.not_genuine"


def read_secret(secret: str) -> bytes:
    """The key of `whsec_` and 24 to 64 bytes in base64; the prefix may be left out.

    Raises:
        InvalidWebhookSecret: it is not of that form. The message does not repeat it.
    """
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if len(key) not in _KEY_BYTES:
        raise InvalidWebhookSecret(
            f"a webhook secret is `{_PREFIX}` and 24 to 64 random bytes in base64: make one with "
            '`"whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()`'
        )
    return key


def signed_headers(keys: Sequence[bytes], message_id: str, moment: datetime, body: bytes) -> dict[str, str]:
    """The three headers; one signature for each key, so that a secret can be changed while both are known."""
    timestamp = str(int(moment.timestamp()))
    signatures = (_signature(key, message_id, timestamp, body) for key in keys)
    return {ID: message_id, TIMESTAMP: timestamp, SIGNATURE: " ".join(signatures)}


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: timedelta = timedelta(minutes=5),
    now: datetime | None = None,
) -> str:
    """Make sure that a request comes from who has the secret, and came lately; gives the event's id.

    The same id may come again: a receiver that must act once remembers the ids it has seen.

    Args:
        headers: of the request; their names in any case.
        body: exactly as it came, before anything parsed it.
        secret: the shared secret, or all that are valid while it is being changed.
        tolerance: how far the sender's clock, and the way, may be off.
        now: the receiver's clock; the wall clock by default.

    Raises:
        WebhookNotGenuine: it is not signed with any of the secrets, or too old, or from the future.
        InvalidWebhookSecret: a secret is not of the right form.
    """
    keys = [read_secret(each) for each in ([secret] if isinstance(secret, str) else secret)]
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (given.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (message_id and timestamp and signatures):
        raise WebhookNotGenuine(f"a signed webhook has the headers {ID}, {TIMESTAMP} and {SIGNATURE}")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        raise WebhookNotGenuine(f"the header {TIMESTAMP} is whole seconds since 1970")
    age = (now or datetime.now(UTC)).timestamp() - int(timestamp)
    if abs(age) > tolerance.total_seconds():
        raise WebhookNotGenuine(f"the webhook was signed {abs(age):.0f} s away from now: more than {tolerance}")
    offered = [signature.encode() for signature in signatures.split(" ")]
    is_genuine = False
    for key in keys:
        expected = _signature(key, message_id, timestamp, body).encode()
        for signature in offered:
            is_genuine |= hmac.compare_digest(expected, signature)
    if not is_genuine:
        raise WebhookNotGenuine("the webhook was not signed with this secret, or was changed on the way")
    return message_id


def _signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"{_VERSION},{b64encode(digest).decode()}"
