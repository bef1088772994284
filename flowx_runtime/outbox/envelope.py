"""An event as it leaves: CloudEvents 1.0 in its JSON form, and where it belongs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote
from uuid import UUID

from flowx_runtime.journal.outbox import ClaimedEvent

CONTENT_TYPE: Final = "application/cloudevents+json"
"""The media type of `Envelope.document`."""

_SEQUENCE_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event with what a receiver needs to recognise, order and route it."""

    event_id: UUID
    """The same however often the event is published: what a receiver knows a repetition by."""
    type: str
    """What `@event` named it."""
    version: str
    """The SemVer of the payload's shape."""
    instance_id: UUID
    """The instance that emitted it, and the key within which order holds."""
    sequence: int
    """Rises with every event of the instance; there may be gaps."""
    occurred_at: datetime
    """When the step that emitted it was committed, by the store's clock."""
    flow_id: str
    correlation_id: str
    """What the start gave; empty where it gave none."""
    payload: str
    """JSON text. `Sensitive` members are redacted in it."""

    @classmethod
    def of(cls, claimed: ClaimedEvent) -> Envelope:
        """The envelope of an event that the journal handed out."""
        return cls(
            event_id=claimed.event.event_id,
            type=claimed.event.type,
            version=claimed.event.version,
            instance_id=claimed.instance_id,
            sequence=claimed.sequence,
            occurred_at=claimed.occurred_at,
            flow_id=claimed.flow_id,
            correlation_id=claimed.correlation_id,
            payload=claimed.event.payload,
        )

    @property
    def partition_key(self) -> str:
        """What to partition by on a broker that keeps order within a partition only."""
        return str(self.instance_id)

    def document(self) -> str:
        """One line of CloudEvents JSON; the payload's text stands in it as it was written.

        Beside the standard's own attributes it has its extensions `partitionkey` and `sequence` (digits of equal
        length, so that they sort as text), `correlationid` where there is one, and `schemaversion`.
        """
        attributes = {
            "specversion": "1.0",
            "id": str(self.event_id),
            "source": f"/flows/{quote(self.flow_id, safe='')}",
            "type": self.type,
            "subject": str(self.instance_id),
            "time": self.occurred_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "datacontenttype": "application/json",
            "schemaversion": self.version,
            "partitionkey": self.partition_key,
            "sequence": f"{self.sequence:0{_SEQUENCE_DIGITS}}",
        }
        if self.correlation_id:
            attributes["correlationid"] = self.correlation_id
        # A number's digits or a member's order must not change on the way. JSON has line ends between its parts only.
        payload = self.payload.replace("\r", " ").replace("\n", " ")
        return f'{json.dumps(attributes)[:-1]}, "data": {payload}}}'
