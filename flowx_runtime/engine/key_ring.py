"""The keys that sensitive members are sealed with where an instance is stored.

Sealing is AES-256-GCM (or 128, 192, by the key's length) of the `cryptography` package, with a nonce of its own for
every member. What is sealed opens only where it was put: the instance, the contract and the member are authenticated
with it, so a sealed text that was moved to another row, or changed by a single bit, is refused.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from flowx_runtime.authoring.errors import FlowxError

_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = (16, 24, 32)


class SealingUnavailable(FlowxError):
    """A key ring needs the `cryptography` package: install `flowx-durable[sealed]`."""

    code: ClassVar[str] = "key_ring.unavailable"


class InvalidKeyRing(FlowxError):
    """A key ring whose keys cannot be used as they are given."""

    code: ClassVar[str] = "key_ring.invalid"


class KeyMissing(FlowxError):
    """A value was sealed with a key that the host does not have: add that key to its key ring again."""

    code: ClassVar[str] = "key_ring.key_missing"


class SealBroken(FlowxError):
    """A sealed value was changed, moved to another place, or sealed with another key of the same name."""

    code: ClassVar[str] = "key_ring.seal_broken"


class KeyRing:
    """Seals with one key and opens with any.

    To rotate, add the new key and make it the current one; keep the old one for as long as an instance that was
    sealed with it is kept.

    Args:
        keys: by name, each of 16, 24 or 32 random bytes (`secrets.token_bytes(32)`). A name stays with its key.
        current: the name of the key to seal with.

    Raises:
        SealingUnavailable: `cryptography` is not installed.
        InvalidKeyRing: a key has another length, a name has a colon, or the current one is not there.
    """

    def __init__(self, keys: Mapping[str, bytes], *, current: str) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise SealingUnavailable(
                "a key ring needs the `cryptography` package: install `flowx-durable[sealed]`"
            ) from error
        for name, key in keys.items():
            if not name or ":" in name:
                raise InvalidKeyRing(f"{name!r} cannot name a key: use letters and digits, no colon")
            if len(key) not in _KEY_BYTES:
                raise InvalidKeyRing(
                    f"the key {name!r} has {len(key)} bytes: give it 32, for example `secrets.token_bytes(32)`"
                )
        if current not in keys:
            raise InvalidKeyRing(f"the current key {current!r} is not among the keys: add it, or name one that is")
        self._ciphers: dict[str, Any] = {name: AESGCM(key) for name, key in keys.items()}
        self._wrong_tag = InvalidTag
        self._current = current

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._ciphers)}; current={self._current})"

    def seal(self, text: str, context: str) -> str:
        """Seal a text for one place; gives `name:base64`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, text.encode(), context.encode())
        return f"{self._current}:{b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, context: str) -> str:
        """The text that was sealed for this very place.

        Raises:
            KeyMissing: the ring does not have its key.
            SealBroken: it is not what was sealed here.
        """
        name, _, encoded = sealed.partition(":")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise KeyMissing(
                f"a value was sealed with the key {name!r}, which this host's key ring does not have "
                f"(it has {', '.join(self._ciphers)}): add that key again"
            )
        try:
            data = b64decode(encoded, validate=True)
            opened: bytes = cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], context.encode())
        except (NotBase64, ValueError, self._wrong_tag) as error:
            raise SealBroken(
                f"a value sealed with the key {name!r} does not open at {context}: it was changed or moved, or the "
                "name now stands for another key"
            ) from error
        return opened.decode()
