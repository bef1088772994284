"""What a journal stores, as plain data. Payloads are JSON text, kept verbatim."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final
from uuid import UUID


class State(Enum):
    """Where an instance is in its life."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPENSATING = "Compensating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    COMPENSATION_FAILED = "CompensationFailed"
    CANCELLED = "Cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether the instance has ended; an ended instance takes no further write."""
        return self in TERMINAL


TERMINAL: Final = frozenset(
    {State.COMPLETED, State.FAILED, State.TIMED_OUT, State.COMPENSATION_FAILED, State.CANCELLED}
)
"""The states an instance ends in."""

REOPENED: Final = "flow.reopened"
"""Capability id of the row by which an instance that had ended goes back once more; its name says who wanted that."""

REOPENED_SCOPE: Final = "reopened"
"""Scope of that row. It belongs to no node; its attempt counts how often the instance was reopened."""


class RowOutcome(Enum):
    """How the attempt that a row records ended."""

    SUCCESS = "Success"
    FAILURE = "Failure"
    COMPENSATED = "Compensated"
    DEGRADED = "Degraded"
    """A fallback answered; never undone."""


@dataclass(frozen=True, slots=True)
class StoredError:
    """The failure a row or an instance ended with. `detail` is redacted before it gets here."""

    code: str
    category: str
    detail: str


@dataclass(frozen=True, slots=True)
class Captured:
    """What one execution read from outside: given back when the row is replayed."""

    utc_now: datetime | None = None
    ids: tuple[UUID, ...] = ()
    random_seed: int | None = None
    """`None` where nothing was drawn; zero is a seed."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One attempt at one node. Key: (instance, scope, step, attempt); append-only."""

    scope: str
    """The loop element or poll attempt (`"7"`, `"7/2"`); empty on the main line."""
    step_id: int
    """The node's index in the plan."""
    attempt: int
    """From 1. Undo attempts count on after the forward ones."""
    capability_id: str
    """The capability, signal or `flow.delay`; empty for a `fail` node."""
    outcome: RowOutcome
    name: str = ""
    """The step's name in the plan."""
    request: str | None = None
    """JSON of the request, kept only where the undo of this row needs it."""
    result: str | None = None
    """JSON of the result, or of the delivered signal."""
    error: StoredError | None = None
    captured: Captured = Captured()
    duration_ms: int = 0
    sequence: int = 0
    """Commit order within the instance, from 1; the journal assigns it."""
    committed_at: datetime | None = None
    """The store's clock at commit; the journal assigns it."""


@dataclass(frozen=True, slots=True)
class StagedEvent:
    """An event that becomes visible with the commit that stages it."""

    event_id: UUID
    type: str
    version: str
    payload: str
    partition_key: str


@dataclass(frozen=True, slots=True)
class Wake:
    """When, and at which node and scope, a parked instance goes on by the clock."""

    at: datetime
    step_id: int
    scope: str


@dataclass(frozen=True, slots=True)
class Wait:
    """One open wait of a parked instance."""

    scope: str
    step_id: int
    wake_at: datetime
    """When it ends by the clock."""
    signal_id: str | None = None
    """The signal that ends it early; `None` where only the clock does."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A signal that was delivered to an instance and not yet taken by a wait."""

    delivery_id: str
    signal_id: str
    payload: str
    received_sequence: int = 0
    """Order of acceptance within the instance, from 1; the journal assigns it."""


@dataclass(frozen=True, slots=True)
class NewInstance:
    """What a start records."""

    instance_id: UUID
    flow_id: str
    flow_version: str
    plan_digest: str
    input: str
    deadline_at: datetime | None = None
    correlation_id: str = ""
    tenant_id: str | None = None
    parent_instance_id: UUID | None = None
    parent_scope: str = ""
    parent_step_id: int | None = None
    parked: Wait | None = None
    """The wait that it is made parked on; nobody gets a lease then."""


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance as the journal has it now."""

    instance_id: UUID
    flow_id: str
    flow_version: str
    plan_digest: str
    state: State
    input: str
    created_at: datetime
    updated_at: datetime
    fence: int
    output: str | None = None
    error: StoredError | None = None
    """The failure that started the unwind or ended the instance."""
    deadline_at: datetime | None = None
    correlation_id: str = ""
    tenant_id: str | None = None
    parent_instance_id: UUID | None = None
    parent_scope: str = ""
    parent_step_id: int | None = None
    waits: tuple[Wait, ...] = ()
    """The open waits; empty unless Suspended."""
    cancel_reason: str | None = None
    """Why somebody asked to cancel it; `None` where nobody did."""

    @property
    def wake(self) -> Wake | None:
        """The earliest open wait."""
        first = min(self.waits, key=lambda wait: wait.wake_at, default=None)
        return None if first is None else Wake(first.wake_at, first.step_id, first.scope)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to one instance, until `expires_at` by the store's clock."""

    instance_id: UUID
    owner: str
    fencing_token: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who is to hold an instance, and for how long at first."""

    owner: str
    ttl: timedelta


@dataclass(frozen=True, slots=True)
class History:
    """All a resume reads: the instance, its rows in commit order, and what was delivered to it."""

    instance: InstanceRow
    rows: tuple[StepRow, ...]
    inbox: tuple[Delivery, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """One atomic write to one instance: any part of it may be empty, all of it commits or nothing does."""

    instance_id: UUID
    fencing_token: int
    rows: tuple[StepRow, ...] = ()
    events: tuple[StagedEvent, ...] = ()
    taken_deliveries: tuple[str, ...] = ()
    """Delivery ids that this commit consumes from the inbox."""
    state: State | None = None
    """The state to move to; `None` leaves it."""
    waits: tuple[Wait, ...] = ()
    """The waits that are open after this commit; only with `state=SUSPENDED`."""
    output: str | None = None
    error: StoredError | None = None
    release_lease: bool = False
    """Give the lease up in the same write: parking and finishing hold none afterwards."""
    parent_delivery: Delivery | None = None
    """Delivered to the parent instance in the same write, so that an ended child never leaves its parent parked.
    Has no effect where there is no parent or it has ended."""

    def __post_init__(self) -> None:
        if (self.state is State.SUSPENDED) != bool(self.waits):
            raise ValueError("an instance parks with at least one wait, and only a parked instance has one")


class Refusal(Enum):
    """Why a journal did not do what was asked. A refusal writes nothing."""

    FENCED_OUT = "journal.fenced_out"
    """A newer owner exists: stop, write nothing, undo nothing."""
    INSTANCE_TERMINAL = "journal.instance_terminal"
    DUPLICATE_STEP = "journal.duplicate_step"
    UNKNOWN_INSTANCE = "journal.unknown_instance"
    SIGNAL_ARRIVED = "journal.signal_arrived"
    """The commit would park on a wait whose signal is already in the inbox: read the history again and go on."""
    LEASE_HELD = "lease.held"
    PAUSED = "flow.paused"
    """It, its flow or everything is paused."""
    NOT_NEEDED = "journal.not_needed"


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is durable."""

    last_sequence: int
    cancel_reason: str | None = None
    """Somebody asked to cancel the instance, and why: stop at this boundary and go back."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning removed."""

    instances: int = 0
    steps: int = 0
    events: int = 0
    deliveries: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """A commit or request that was not done, and why."""

    reason: Refusal
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a start."""

    history: History
    lease: Lease | None
    """The lease, where this call created the instance; `None` where it already existed, or was created parked."""
    is_paused: bool = False
    """It was created while its flow is paused: give the lease back, and leave it until that is over."""
    is_parked: bool = False
    """This call created it parked, as it was asked to."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease on an instance with everything needed to go on with it."""

    lease: Lease
    history: History


@dataclass(frozen=True, slots=True)
class Filter:
    """Which instances a listing shows."""

    flow_id: str | None = None
    flow_version: str | None = None
    states: frozenset[State] = field(default_factory=frozenset)
    limit: int = 100
    parent: UUID | None = None
    """Only the inline children of this instance."""
