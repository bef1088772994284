"""The journal contract on PostgreSQL 14 and later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.instants import aware
from flowx_runtime.journal.pauses import holds
from flowx_runtime.journal.postgres.around import PostgresAround
from flowx_runtime.journal.postgres.connecting import Address
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import (
    commit_document,
    delivery_document,
    read_history,
    read_instance,
    storable,
)
from flowx_runtime.journal.postgres.group_writer import AT_A_TIME, GroupWriter
from flowx_runtime.journal.postgres.migrating import check, migrate
from flowx_runtime.journal.postgres.nodes import PostgresNodes
from flowx_runtime.journal.postgres.once import PostgresOnce
from flowx_runtime.journal.postgres.outbox import PostgresOutbox
from flowx_runtime.journal.postgres.pauses import PostgresPauses
from flowx_runtime.journal.postgres.queries import queries
from flowx_runtime.journal.postgres.repeats import ALSO_OF_A_REPEAT, answer_to_repeat
from flowx_runtime.journal.postgres.schedules import PostgresSchedules
from flowx_runtime.journal.postgres.setbacks import PostgresSetbacks
from flowx_runtime.journal.postgres.transaction import PostgresStepTransaction, read_answer, step_transaction
from flowx_runtime.journal.records import (
    TERMINAL,
    Claimant,
    Claimed,
    Commit,
    Committed,
    Delivery,
    Filter,
    History,
    InstanceRow,
    Lease,
    NewInstance,
    Pruned,
    Refusal,
    Refused,
    StagedEvent,
    Started,
    State,
)


class PostgresJournal(
    PostgresOnce, PostgresOutbox, PostgresSchedules, PostgresPauses, PostgresSetbacks, PostgresNodes, PostgresAround
):
    """Instances and their history in one schema of a database. Make it with `open`.

    Every write is one statement, and writes that wait at the same time share one.
    """

    def __init__(self, address: Address, schema: str, *, pool_size: int, patience: float, answer_within: float) -> None:
        def connections(size: int) -> Connections:
            return Connections(address, size=size, patience=patience, answer_within=answer_within)

        # Apart from each other, so that a step which keeps its transaction open for long holds up no other step's
        # commit, and no amount of work the renewal of its leases.
        self._connections = connections(max(1, pool_size // 2))
        self._steps = connections(max(1, pool_size // 2))
        self._lines = connections(AT_A_TIME)
        self._renewals = connections(1)
        self._address = address
        self._schema = schema
        self._sql = queries(schema)
        self._group = GroupWriter(lines=self._lines, calls=self._connections, sql=self._sql)

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        schema: str = "flowx",
        migrate: bool = True,
        pool_size: int = 16,
        patience: timedelta = timedelta(seconds=10),
        answer_within: timedelta = timedelta(seconds=30),
        direct_dsn: str | None = None,
    ) -> PostgresJournal:
        """Connect, and bring the schema up to date or refuse it.

        Args:
            dsn: a libpq connection string.
            schema: where the tables are; made when missing.
            migrate: apply missing migrations; without it an older schema is refused.
            pool_size: the most connections to hold, half of them for steps with a transaction of their own; up to
                four more write steps, renew leases, and hear of peers.
            patience: how long a call waits for a connection before the journal counts as unavailable; a step that
                asks for a transaction waits its turn for as long as others are merely busy.
            answer_within: how long a call waits for the server's answer before its connection is given up.
            direct_dsn: where a node hears of its peers, on one connection, if `dsn` leads through a pooler that shares
                sessions; the same database.

        Raises:
            DsnInvalid: the dsn is no connection string.
            ConnectionRefused: the server does not let this user in.
            DatabaseUnfit: the database has an encoding other than UTF8, or this user lacks a right.
            JournalUnavailable: the server cannot be reached.
            SchemaNewer: the database was migrated by a later flowx.
            SchemaOlder: it is behind, and `migrate` is off.
        """
        journal = cls(
            Address(dsn),
            schema,
            pool_size=pool_size,
            patience=patience.total_seconds(),
            answer_within=answer_within.total_seconds(),
        )
        if direct_dsn is not None:
            journal._address = Address(direct_dsn)
        try:
            async with journal._connections.lend() as connection:
                await (_migrate if migrate else check)(connection, schema)
        except BaseException:
            await journal.close()
            raise
        return journal

    async def start(self, instance: NewInstance, *, owner: str, ttl: timedelta) -> Started:
        created_at, expires_at, history, paused = await self._group.start(instance, owner, ttl)
        if history is not None:
            return Started(read_history(history), None)
        row = _as_started(instance, created_at.astimezone(UTC))
        if expires_at is None and instance.parked is not None:
            parked = replace(row, state=State.SUSPENDED, waits=(instance.parked,))
            return Started(History(parked, ()), None, is_parked=True)
        lease = _lease(instance.instance_id, owner, row.fence, expires_at)
        return Started(History(row, ()), lease, is_paused=holds(paused or (), row.flow_id))

    async def commit(self, commit: Commit) -> Committed | Refused:
        try:
            return await self._commit(commit)
        except JournalUnavailable as unknown:
            # Perhaps it was written and only the answer was lost. Sent again it is written, or found to be.
            answer = await self._commit(commit)
            if isinstance(answer, Committed) or answer.reason not in ALSO_OF_A_REPEAT:
                return answer
            history = await self.read(commit.instance_id)
            found = None if history is None else answer_to_repeat(commit, answer, history)
            if found is None:
                raise unknown from None
            return found

    async def _commit(self, commit: Commit) -> Committed | Refused:
        if commit.taken_deliveries or len(commit.waits) > 1 or commit.parent_delivery is not None:
            (row,) = await self._connections.fetch(self._sql["commit"], [commit_document(commit)])
            return read_answer(*row)
        return read_answer(*await self._group.commit(commit))

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        refusal, detail, token, expires_at, history = await self._fetched("claim", [instance_id, owner, ttl])
        if refusal is not None:
            if detail == Refusal.PAUSED.value:
                return Refused(Refusal.PAUSED)
            return Refused(Refusal(refusal), detail or "")
        return _claimed(owner, token, expires_at, history)

    async def claim_due(
        self,
        *,
        now: datetime,
        owner: str,
        ttl: timedelta,
        limit: int,
        plans: Collection[tuple[str, str]] | None = None,
    ) -> Sequence[Claimed]:
        rows = await self._connections.fetch(self._sql["claim_due"], [aware(now), owner, ttl, limit, *_columns(plans)])
        return [_claimed(owner, *row) for row in rows]

    async def claim_abandoned(
        self, *, owner: str, ttl: timedelta, limit: int, plans: Collection[tuple[str, str]] | None = None
    ) -> Sequence[Claimed]:
        rows = await self._connections.fetch(self._sql["claim_abandoned"], [owner, ttl, limit, *_columns(plans)])
        return [_claimed(owner, *row) for row in rows]

    async def renew(self, instance_ids: Sequence[UUID], *, owner: str, ttl: timedelta) -> frozenset[UUID]:
        parameters = {"instances": list(instance_ids), "owner": owner, "ttl": ttl}
        return frozenset(row[0] for row in await self._renewals.ask(self._sql["renew"], parameters))

    async def release(self, instance_id: UUID, *, fencing_token: int) -> None:
        await self._one("release", [instance_id, fencing_token])

    async def deliver(
        self, instance_id: UUID, delivery: Delivery, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        return await self._claim_after(self._one, "deliver", instance_id, delivery_document(delivery), claim_for)

    async def request_cancel(
        self, instance_id: UUID, reason: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        return await self._claim_after(self._one, "request_cancel", instance_id, storable(reason), claim_for)

    async def reopen(
        self, instance_id: UUID, by: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        return await self._claim_after(self._fetched, "reopen", instance_id, storable(by), claim_for)

    async def prune(self, *, older_than: datetime, states: Collection[State] = TERMINAL, batch: int = 1000) -> Pruned:
        total = (0, 0, 0, 0)
        while True:
            counts = await self._fetched("prune", [aware(older_than), [state.value for state in states], batch])
            total = tuple(before + count for before, count in zip(total, counts, strict=True))
            if counts[0] < batch:
                return Pruned(*total)

    async def read(self, instance_id: UUID) -> History | None:
        (document,) = await self._one("read", [instance_id])
        return None if document is None else read_history(document)

    async def find(self, filter: Filter) -> Sequence[InstanceRow]:
        parameters = {
            "flow_id": filter.flow_id,
            "flow_version": filter.flow_version,
            "states": [state.value for state in filter.states] or None,
            "parent": filter.parent,
            "limit": filter.limit,
        }
        return [read_instance(document) for (document,) in await self._connections.ask(self._sql["find"], parameters)]

    async def events(self, instance_id: UUID) -> Sequence[StagedEvent]:
        return [StagedEvent(*row) for row in await self._connections.ask(self._sql["events"], [instance_id])]

    async def live_leases(self, instance_id: UUID) -> int:
        (count,) = await self._one("live_leases", [instance_id])
        return int(count)

    async def next_wake(self) -> datetime | None:
        (earliest,) = await self._one("next_wake", ())
        return None if earliest is None else earliest.astimezone(UTC)

    async def now(self) -> datetime:
        (moment,) = await self._one("now", ())
        read: datetime = moment
        return read.astimezone(UTC)

    async def close(self) -> None:
        await self._group.close()
        for each in (self._connections, self._steps, self._lines, self._renewals):
            await each.close()

    def transaction(self) -> AbstractAsyncContextManager[PostgresStepTransaction]:
        """A step's own statements and its row as one; see `flowx_runtime.journal.contract.Transactional`."""
        return step_transaction(self._steps, self._sql["commit"])

    async def _claim_after(
        self, send: _Send, name: str, instance_id: UUID, said: str, claimant: Claimant | None
    ) -> Claimed | Refused | None:
        """Say something to an instance and, if it may go on then, claim it.

        Of one that is sent twice, the second finds the instance held where the first was carried out: what was said
        counts once, and the instance goes on when that lease has run out.
        """
        if claimant is None:
            (refusal,) = await send(name, [instance_id, said])
            return None if refusal is None else Refused(Refusal(refusal))
        parameters = [instance_id, said, instance_id, claimant.owner, claimant.ttl]
        refusal, token, expires_at, history = await send(f"{name}_and_claim", parameters)
        if refusal is not None:
            return Refused(Refusal(refusal))
        return None if token is None else _claimed(claimant.owner, token, expires_at, history)

    async def _one(self, name: str, parameters: Sequence[Any]) -> tuple[Any, ...]:
        """The row of a statement that may be carried out twice."""
        (row,) = await self._connections.ask(self._sql[name], parameters)
        return row

    async def _fetched(self, name: str, parameters: Sequence[Any]) -> tuple[Any, ...]:
        (row,) = await self._connections.fetch(self._sql[name], parameters)
        return row


_Send: TypeAlias = Callable[[str, Sequence[Any]], Awaitable[tuple[Any, ...]]]

_migrate = migrate  # `open` has a parameter of that name


def _as_started(instance: NewInstance, created_at: datetime) -> InstanceRow:
    return InstanceRow(
        instance_id=instance.instance_id,
        flow_id=instance.flow_id,
        flow_version=instance.flow_version,
        plan_digest=instance.plan_digest,
        state=State.RUNNING,
        input=instance.input,
        created_at=created_at,
        updated_at=created_at,
        fence=1,
        deadline_at=instance.deadline_at,
        correlation_id=instance.correlation_id,
        tenant_id=instance.tenant_id,
        parent_instance_id=instance.parent_instance_id,
        parent_scope=instance.parent_scope,
        parent_step_id=instance.parent_step_id,
    )


def _lease(instance_id: UUID, owner: str, token: int, expires_at: datetime) -> Lease:
    return Lease(instance_id, owner, token, expires_at.astimezone(UTC))


def _claimed(owner: str, token: int, expires_at: datetime, document: Any) -> Claimed:
    history = read_history(document)
    return Claimed(_lease(history.instance.instance_id, owner, token, expires_at), history)


def _columns(plans: Collection[tuple[str, str]] | None) -> tuple[list[str] | None, list[str] | None]:
    if plans is None:
        return None, None
    return [flow for flow, _ in plans], [version for _, version in plans]
