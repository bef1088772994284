"""Short words for what a journal check sets up. Nothing here decides whether a store is right."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import (
    Claimed,
    Commit,
    Committed,
    Delivery,
    History,
    NewInstance,
    Refusal,
    Refused,
    RowOutcome,
    StagedEvent,
    State,
    StepRow,
    Wait,
)

LONG = timedelta(hours=1)
OVER = timedelta(0)
"""The term of a lease that has expired by the time it is given: no test waits for a clock."""

NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)
"""The engine's clock, by which waits are recorded. Far from the store's on purpose."""


def new(**changes: object) -> NewInstance:
    instance = NewInstance(uuid4(), "shop.order", "1.0", "digest", '{"id": 7}')
    return replace(instance, **changes)  # type: ignore[arg-type]


def row(step_id: int = 0, scope: str = "", attempt: int = 1, **changes: object) -> StepRow:
    made = StepRow(scope, step_id, attempt, "charge", RowOutcome.SUCCESS, name="charge", result='{"ok": true}')
    return replace(made, **changes)  # type: ignore[arg-type]


def event(event_type: str = "order.paid") -> StagedEvent:
    return StagedEvent(uuid4(), event_type, "1.0.0", '{"total":  3}', "key")


def wait(signal_id: str | None = "paid", *, step_id: int = 1, scope: str = "", at: datetime = NOON) -> Wait:
    return Wait(scope, step_id, at, signal_id)


def delivery(delivery_id: str = "d-1", signal_id: str = "paid") -> Delivery:
    return Delivery(delivery_id, signal_id, '{"amount": 1}')


async def started(journal: Journal, *, ttl: timedelta = LONG, owner: str = "a", **changes: object) -> UUID:
    instance = new(**changes)
    answer = await journal.start(instance, owner=owner, ttl=ttl)
    assert answer.lease is not None
    assert answer.lease.fencing_token == 1
    return instance.instance_id


async def parked(journal: Journal, *waits: Wait, **changes: object) -> UUID:
    instance_id = await started(journal, **changes)
    await done(journal, Commit(instance_id, 1, state=State.SUSPENDED, waits=waits or (wait(),), release_lease=True))
    return instance_id


async def ended(journal: Journal, state: State = State.COMPLETED, **changes: object) -> UUID:
    instance_id = await started(journal, **changes)
    await done(journal, Commit(instance_id, 1, state=state, output="{}", release_lease=True))
    return instance_id


async def done(journal: Journal, commit: Commit) -> Committed:
    answer = await journal.commit(commit)
    assert isinstance(answer, Committed), answer
    return answer


async def refused(journal: Journal, commit: Commit) -> Refusal:
    answer = await journal.commit(commit)
    assert isinstance(answer, Refused), answer
    return answer.reason


async def claimed(journal: Journal, instance_id: UUID, *, owner: str = "b", ttl: timedelta = LONG) -> Claimed:
    answer = await journal.claim(instance_id, owner=owner, ttl=ttl)
    assert isinstance(answer, Claimed), answer
    return answer


async def claim_refused(journal: Journal, instance_id: UUID, *, owner: str = "b") -> Refusal:
    answer = await journal.claim(instance_id, owner=owner, ttl=LONG)
    assert isinstance(answer, Refused), answer
    return answer.reason


async def due(
    journal: Journal, now: datetime, *, limit: int = 100, plans: list[tuple[str, str]] | None = None
) -> list[UUID]:
    given = await journal.claim_due(now=now, owner="sweep", ttl=LONG, limit=limit, plans=plans)
    return [claim.lease.instance_id for claim in given]


async def abandoned(journal: Journal, *, limit: int = 100, plans: list[tuple[str, str]] | None = None) -> list[UUID]:
    given = await journal.claim_abandoned(owner="sweep", ttl=LONG, limit=limit, plans=plans)
    return [claim.lease.instance_id for claim in given]


async def history(journal: Journal, instance_id: UUID) -> History:
    read = await journal.read(instance_id)
    assert read is not None
    return read
