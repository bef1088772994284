"""Ids: minted ones are time-ordered, derived ones are the same wherever and whenever they are derived.

The derivations are frozen formats: an instance that waits for a year must find its child under the same id. Each
hashes a tag that carries a version, so that a later format cannot collide with an earlier one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

_VARIANT = 0b10 << 62


def mint_id(now: datetime, randbits: Callable[[int], int] = secrets.randbits) -> UUID:
    """A UUIDv7: ids minted later sort later, to the millisecond."""
    milliseconds = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    value = milliseconds << 80 | 7 << 76 | randbits(12) << 64 | _VARIANT | randbits(62)
    return UUID(int=value)


def minted_at(instance_id: UUID) -> datetime | None:
    """The instant a minted id carries; `None` for an id of another kind."""
    if instance_id.version != 7:
        return None
    return datetime.fromtimestamp((instance_id.int >> 80) / 1000, UTC)


def derive_id(kind: str, *parts: str) -> UUID:
    """A UUIDv8 over SHA-256 of the parts, separated so that no two lists of parts read the same."""
    digest = hashlib.sha256(_material(kind, parts)).digest()
    value = int.from_bytes(digest[:16], "big")
    value &= ~(0xF << 76) & ~(0b11 << 62)
    return UUID(int=value | 8 << 76 | _VARIANT)


def child_id(parent: UUID, scope: str, step_id: int) -> UUID:
    """The instance that a sub-flow step of a parent starts: starting it again finds it."""
    return derive_id("child", str(parent), scope, str(step_id))


def started_id(flow_id: str, tenant_id: str | None, key: str) -> UUID:
    """The instance that an idempotency key stands for."""
    return derive_id("start", flow_id, tenant_id or "", key)


def event_id(instance_id: UUID, scope: str, name: str) -> UUID:
    """The event that one emit of one instance stages, however often it is staged."""
    return derive_id("event", str(instance_id), scope, name)


def idempotency_key(instance_id: UUID, scope: str, name: str) -> str:
    """What a step gives to the outside as the name of its one effect."""
    return hashlib.sha256(_material("step", (str(instance_id), scope, name))).hexdigest()[:40]


def undo_idempotency_key(instance_id: UUID, scope: str, name: str) -> str:
    """The undo of a step is another effect than the step."""
    return hashlib.sha256(_material("undo", (str(instance_id), scope, name))).hexdigest()[:40]


def _material(kind: str, parts: tuple[str, ...]) -> bytes:
    lengths_and_parts = (f"{len(encoded)}:".encode() + encoded for encoded in (part.encode() for part in parts))
    return f"flowx.{kind}/1|".encode() + b"|".join(lengths_and_parts)


def once_key(instance_id: UUID, path: str) -> str:
    """What a step inside a capability gives to the outside: the same for every attempt of it in this run."""
    return hashlib.sha256(_material("once", (str(instance_id), path))).hexdigest()[:40]


def shared_once_key(application: str, labels: str, scope: str) -> str:
    """The same for every run of an application that comes to these labels about one thing."""
    return hashlib.sha256(_material("once-about", (application, labels, scope))).hexdigest()[:40]
