"""Everything that is known of one instance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flowx_cli.database import known_database
from flowx_cli.operate.listing import pauses_of, setback_document
from flowx_cli.operate.moments import iso
from flowx_cli.operate.pinned import Pinned, pinned_plan
from flowx_cli.operate.stuck import why_it_stands
from flowx_cli.operate.waits import wait_document
from flowx_runtime import PostgresJournal
from flowx_runtime.engine.documents import shown
from flowx_runtime.host.errors import UnknownInstance
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.pauses import Pause
from flowx_runtime.journal.postgres.around import Around, Received, Relative, Staged
from flowx_runtime.journal.records import History, StepRow, StoredError, Wait
from flowx_runtime.journal.setbacks import Setback
from flowx_runtime.plan import AwaitSignal, Poll


@dataclass(frozen=True, slots=True)
class Dossier:
    """One instance, with what stands around it."""

    history: History
    around: Around
    once: Sequence[OnceRecord]
    pinned: Pinned
    setback: Setback | None = None
    """Why a node could not go on with it since its last row."""
    pauses: Sequence[Pause] = ()
    """Those that hold it."""

    @property
    def reasons(self) -> list[str]:
        """Why it stands where it does, and what would move it."""
        return list(
            why_it_stands(self.history, self.around, self.once, self.pinned, setback=self.setback, pauses=self.pauses)
        )

    def deliveries(self, wait: Wait) -> list[str]:
        """How to deliver to a wait: by command, and by the request that the flow's own route takes."""
        contract = signal_contract(self.pinned, wait)
        if contract is None or wait.signal_id is None:
            return []
        instance = self.history.instance
        members = ", ".join(f'"{field.alias or name}": …' for name, field in contract.model_fields.items())
        routes = () if self.pinned.plan is None else self.pinned.plan.routes
        return [
            f"flowx signal {instance.instance_id} {wait.signal_id} --data '{{{members}}}'",
            *(f"POST {route.path}/{instance.instance_id}/signals/{wait.signal_id}" for route in routes),
        ]

    def as_json(self) -> str:
        """One JSON document."""
        return json.dumps(self.document(), indent=2)

    def document(self) -> dict[str, Any]:
        """It as JSON. Sensitive members are redacted wherever they were stored."""
        instance, around = self.history.instance, self.around
        lease = around.lease
        return {
            "instanceId": str(instance.instance_id),
            "flow": instance.flow_id,
            "version": instance.flow_version,
            "planDigest": instance.plan_digest,
            "state": instance.state.value,
            "startedAt": iso(instance.created_at),
            "since": iso(instance.updated_at),
            "deadline": iso(instance.deadline_at),
            "correlationId": instance.correlation_id,
            "tenantId": instance.tenant_id,
            "input": _parsed(instance.input),
            "output": None if instance.output is None else _parsed(instance.output),
            "error": _error(instance.error),
            "cancelReason": instance.cancel_reason,
            "stands": self.reasons,
            "setback": None if self.setback is None else setback_document(self.setback),
            "paused": bool(self.pauses),
            "waits": [wait_document(wait) | {"deliver": self.deliveries(wait)} for wait in instance.waits],
            "rows": [_row(row) for row in self.history.rows],
            "inbox": [_received(each) for each in around.received],
            "once": [_once(record) for record in self.once],
            "events": [_event(event) for event in around.events],
            "parent": None if around.parent is None else _relative(around.parent),
            "children": [_relative(child) for child in around.children],
            "lease": None
            if lease is None
            else {"owner": lease.owner, "until": iso(lease.expires_at), "live": lease.expires_at > around.now},
        }


async def read_dossier(instance_id: UUID, dsn: str | None) -> Dossier:
    """Gather it; takes no lease.

    Raises:
        UnknownInstance: there is none.
        UsageProblem: no database is known.
        FlowxError: it cannot be reached, or its schema is not this version's.
    """
    with known_database(dsn) as server:
        journal = await PostgresJournal.open(server, migrate=False)
        try:
            history = await journal.read(instance_id)
            if history is None:
                raise UnknownInstance(f"the journal has no instance {instance_id}")
            records = await journal.once_records(instance_id, history.instance.flow_id)
            # An execution's own record has made no attempt: it keeps what its body read from outside.
            steps = [record for record in records if record.is_done or record.attempts]
            around, setbacks = await journal.around(instance_id), await journal.setbacks([instance_id])
            return Dossier(
                history,
                around,
                steps,
                pinned_plan(history.instance),
                next(iter(setbacks), None),
                pauses_of(history.instance, await journal.pauses()),
            )
        finally:
            await journal.close()


def signal_contract(pinned: Pinned, wait: Wait) -> Any:
    """The contract of the signal that ends a wait; `None` where none does, or the plan is not here."""
    node = None if pinned.plan is None else pinned.plan.nodes[wait.step_id]
    if isinstance(node, AwaitSignal | Poll) and node.signal is not None and node.signal.id == wait.signal_id:
        return node.signal.type
    return None


def _parsed(text: str) -> Any:
    return json.loads(shown(text))


def _error(error: StoredError | None) -> dict[str, str] | None:
    return None if error is None else {"code": error.code, "category": error.category, "detail": error.detail}


def _row(row: StepRow) -> dict[str, Any]:
    return {
        "sequence": row.sequence,
        "scope": row.scope,
        "step": row.step_id,
        "name": row.name,
        "attempt": row.attempt,
        "capability": row.capability_id,
        "outcome": row.outcome.value,
        "error": _error(row.error),
        "durationMs": row.duration_ms,
        "at": iso(row.committed_at),
    }


def _received(each: Received) -> dict[str, Any]:
    return {
        "deliveryId": each.delivery_id,
        "signal": each.signal_id,
        "payload": _parsed(each.payload),
        "receivedAt": iso(each.received_at),
        "takenAt": iso(each.taken_at),
    }


def _once(record: OnceRecord) -> dict[str, Any]:
    return {
        "path": record.path,
        "done": record.is_done,
        "attempts": record.attempts,
        "error": _error(record.error),
        "due": iso(record.due_at),
    }


def _event(event: Staged) -> dict[str, Any]:
    return {
        "eventId": str(event.event_id),
        "type": event.type,
        "version": event.version,
        "status": event_status(event),
        "stagedAt": iso(event.staged_at),
        "publishedAt": iso(event.published_at),
        "attempts": event.attempts,
        "lastError": event.last_error,
    }


def event_status(event: Staged) -> str:
    """How far an event got, in one word."""
    if event.published_at is not None:
        return "published"
    if event.dropped_at is not None:
        return "dropped"
    return "pending" if event.set_aside_at is None else "poisoned"


def _relative(relative: Relative) -> dict[str, str]:
    return {
        "instanceId": str(relative.instance_id),
        "flow": relative.flow_id,
        "version": relative.flow_version,
        "state": relative.state.value,
    }
