"""What a store keeps of the steps inside capabilities that run at most once.

Guarantees every method keeps:

* A record is committed on its own, at once: what happens to the surrounding step's transaction does not touch it.
* A record that says *done* is never replaced: whoever comes second is refused and reads the first.
* Every write names a fencing token, judged as a commit's is; an ended instance takes no record.
* Records belong to their instance and go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from flowx_runtime.journal.records import Refused, StoredError


@dataclass(frozen=True, slots=True)
class OnceRecord:
    """How far one step inside a capability got. Key: (instance, path)."""

    path: str
    """Made of names the author chose: `order.place/payment.capture@0/charge-card`."""
    is_done: bool
    value: str | None = None
    """JSON of the result, where it is done."""
    type: str | None = None
    """`module:qualified name` of the class that reads the value or, of a failure, that it was."""
    attempts: int = 1
    """Attempts that ended, the successful one included."""
    error: StoredError | None = None
    """The last failure, where it is not done; or why the result of one that is done could not be kept."""
    due_at: datetime | None = None
    """When it may be tried again."""


class OnceStore(Protocol):
    """Keeps the records of instances."""

    async def once_records(self, instance_id: UUID, path: str) -> Sequence[OnceRecord]:
        """The record of a path and those below it (`path/…`), by path; takes no lease."""
        ...

    async def record_once(
        self, instance_id: UUID, records: Sequence[OnceRecord], *, fencing_token: int
    ) -> Refused | None:
        """Keep records, all or none.

        Refused with `UNKNOWN_INSTANCE`, `FENCED_OUT`, `INSTANCE_TERMINAL`, or with `DUPLICATE_STEP` when one of them
        is done already; where several hold, in this order.
        """
        ...
