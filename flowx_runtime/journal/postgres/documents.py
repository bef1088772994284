"""Journal records as the JSON documents that the database's functions take and give.

A payload is put in as a string, not as JSON inside JSON: so it keeps its text, and no value differs from null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from flowx_runtime.journal.records import (
    Captured,
    Commit,
    Delivery,
    History,
    InstanceRow,
    NewInstance,
    RowOutcome,
    StagedEvent,
    State,
    StepRow,
    StoredError,
    Wait,
)

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


def commit_document(commit: Commit) -> str:
    """A commit; what it does not have is left out."""
    document: dict[str, Any] = {
        "instance_id": str(commit.instance_id),
        "fencing_token": commit.fencing_token,
        "release": commit.release_lease,
    }
    if commit.rows:
        document["rows"] = [_row_document(row) for row in commit.rows]
    if commit.events:
        document["events"] = [_event_document(event) for event in commit.events]
    if commit.taken_deliveries:
        document["taken"] = commit.taken_deliveries
    if commit.state is not None:
        document["state"] = commit.state.value
    if commit.waits:
        document["waits"] = [_wait_document(wait) for wait in commit.waits]
    if commit.output is not None:
        document["output"] = commit.output
    if commit.error is not None:
        document["error"] = _error_document(commit.error)
    if commit.parent_delivery is not None:
        document["parent_delivery"] = _delivery(commit.parent_delivery)
    return _encode(document)


def start_document(instance: NewInstance, owner: str, ttl: timedelta) -> str:
    """A new instance and the lease it starts with, or the wait it is made parked on."""
    return _encode(
        {
            "owner": owner,
            "ttl": ttl.total_seconds(),
            "instance_id": str(instance.instance_id),
            "flow_id": instance.flow_id,
            "flow_version": instance.flow_version,
            "plan_digest": instance.plan_digest,
            "input": instance.input,
            "deadline_at": None if instance.deadline_at is None else instance.deadline_at.isoformat(),
            "correlation_id": instance.correlation_id,
            "tenant_id": instance.tenant_id,
            "parent_instance_id": None if instance.parent_instance_id is None else str(instance.parent_instance_id),
            "parent_scope": instance.parent_scope,
            "parent_step_id": instance.parent_step_id,
            "parked": None if instance.parked is None else _wait_document(instance.parked),
        }
    )


def delivery_document(delivery: Delivery) -> str:
    """A delivery to accept."""
    return _encode(_delivery(delivery))


def storable(text: str) -> str:
    """The text without what PostgreSQL does not take: a failure or a cancel must be recorded whatever is said of it."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def error_text(error: StoredError | None) -> str | None:
    """A failure by itself."""
    return None if error is None else _encode(_error_document(error))


def captured_text(captured: Captured) -> str | None:
    """What an execution read from outside, by itself; `None` where that is nothing."""
    document = _captured_document(captured)
    return None if document is None else _encode(document)


def read_history(document: Mapping[str, Any]) -> History:
    """The document of `history(instance)`."""
    return History(
        read_instance(document["instance"]),
        tuple(_read_row(row) for row in document["rows"] or ()),
        tuple(Delivery(**delivery) for delivery in document["inbox"] or ()),
    )


def read_instance(document: Mapping[str, Any]) -> InstanceRow:
    """The document of `instance_document(row)`."""
    parent = document["parent_instance_id"]
    return InstanceRow(
        instance_id=UUID(document["instance_id"]),
        flow_id=document["flow_id"],
        flow_version=document["flow_version"],
        plan_digest=document["plan_digest"],
        state=State(document["state"]),
        input=document["input"],
        created_at=moment(document["created_at"]),
        updated_at=moment(document["updated_at"]),
        fence=document["fence"],
        output=document["output"],
        error=_read_error(document["error"]),
        deadline_at=None if document["deadline_at"] is None else moment(document["deadline_at"]),
        correlation_id=document["correlation_id"],
        tenant_id=document["tenant_id"],
        parent_instance_id=None if parent is None else UUID(parent),
        parent_scope=document["parent_scope"],
        parent_step_id=document["parent_step_id"],
        waits=_read_waits(document["waits"] or ()),
        cancel_reason=document["cancel_reason"],
    )


def _row_document(row: StepRow) -> dict[str, Any]:
    return {
        "scope": row.scope,
        "step_id": row.step_id,
        "attempt": row.attempt,
        "name": row.name,
        "capability_id": row.capability_id,
        "outcome": row.outcome.value,
        "request": row.request,
        "result": row.result,
        "error": None if row.error is None else _error_document(row.error),
        "captured": _captured_document(row.captured),
        "duration_ms": row.duration_ms,
    }


def _captured_document(captured: Captured) -> dict[str, Any] | None:
    document: dict[str, Any] = {}
    if captured.utc_now is not None:
        document["utcNow"] = captured.utc_now.isoformat()
    if captured.ids:
        document["ids"] = [str(minted) for minted in captured.ids]
    if captured.random_seed is not None:
        document["seed"] = captured.random_seed
    return document or None


def _event_document(event: StagedEvent) -> dict[str, Any]:
    return {
        "event_id": str(event.event_id),
        "type": event.type,
        "version": event.version,
        "payload": event.payload,
        "partition_key": event.partition_key,
    }


def _wait_document(wait: Wait) -> dict[str, Any]:
    return {
        "scope": wait.scope,
        "step_id": wait.step_id,
        "wake_at": wait.wake_at.isoformat(),
        "signal_id": wait.signal_id,
    }


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "delivery_id": delivery.delivery_id,
        "signal_id": delivery.signal_id,
        "payload": delivery.payload,
    }


def _error_document(error: StoredError) -> dict[str, Any]:
    return {"code": error.code, "category": error.category, "detail": storable(error.detail)}


def _read_row(document: Mapping[str, Any]) -> StepRow:
    return StepRow(
        scope=document["scope"],
        step_id=document["step_id"],
        attempt=document["attempt"],
        capability_id=document["capability_id"],
        outcome=RowOutcome(document["outcome"]),
        name=document["name"],
        request=document["request"],
        result=document["result"],
        error=_read_error(document["error"]),
        captured=_read_captured(document["captured"]),
        duration_ms=document["duration_ms"],
        sequence=document["sequence"],
        committed_at=moment(document["committed_at"]),
    )


def _read_captured(document: Mapping[str, Any] | None) -> Captured:
    if document is None:
        return Captured()
    read = document.get("utcNow")
    return Captured(
        utc_now=None if read is None else moment(read),
        ids=tuple(UUID(minted) for minted in document.get("ids", ())),
        random_seed=document.get("seed"),
    )


def _read_error(document: Mapping[str, str] | None) -> StoredError | None:
    return None if document is None else StoredError(document["code"], document["category"], document["detail"])


def _read_waits(documents: Iterable[Mapping[str, Any]]) -> tuple[Wait, ...]:
    return tuple(
        Wait(document["scope"], document["step_id"], moment(document["wake_at"]), document["signal_id"])
        for document in documents
    )


def moment(text: str) -> datetime:
    """An instant as PostgreSQL writes it in JSON."""
    return datetime.fromisoformat(text).astimezone(UTC)
