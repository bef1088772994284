"""Whatever happens to a connection, at whatever moment: nothing is lost, halved or done twice, and it comes right."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from journal_scene import (
    LONG,
    NOON,
    OVER,
    claimed,
    delivery,
    done,
    ended,
    event,
    history,
    new,
    parked,
    row,
    started,
    wait,
)
from psycopg import AsyncConnection, OperationalError
from wire import Wire

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import Claimant, Claimed, Commit, Committed, Filter, Refusal, Refused, State
from tests.servers import until_it_answers

PATIENCE = timedelta(seconds=0.15)
FAR = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
async def wire(postgres_dsn: str, open_folder: Path) -> AsyncIterator[Wire]:
    async with Wire(postgres_dsn, open_folder) as opened:
        yield opened


@pytest.fixture
async def journal(wire: Wire, schema: str) -> AsyncIterator[PostgresJournal]:
    store = await PostgresJournal.open(wire.dsn, schema=schema)
    yield store
    wire.come_up()
    await store.close()


@pytest.fixture
async def connection(postgres_dsn: str) -> AsyncIterator[AsyncConnection[Any]]:
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as opened:
        yield opened


class Call:
    """One method of the journal on an instance made for it; `again` is the call, as often as it is made."""

    def __init__(
        self,
        scene: Callable[[PostgresJournal], Awaitable[UUID]],
        call: Callable[[PostgresJournal, UUID], Awaitable[Any]],
        *,
        heals: bool,
        stands: Callable[[PostgresJournal, UUID, Any], Awaitable[None]],
    ) -> None:
        self.scene = scene
        self.call = call
        self.heals = heals
        """Whether the call answers though its connection was cut once."""
        self.stands = stands
        """How things stand once it has answered."""


async def a_running(journal: PostgresJournal) -> UUID:
    return await started(journal, owner="a")


async def a_parked(journal: PostgresJournal) -> UUID:
    return await parked(journal)


async def a_signalled(journal: PostgresJournal) -> UUID:
    instance_id = await parked(journal)
    await journal.deliver(instance_id, delivery())
    return instance_id


async def an_abandoned(journal: PostgresJournal) -> UUID:
    return await started(journal, ttl=OVER)


async def an_ended(journal: PostgresJournal) -> UUID:
    return await ended(journal)


async def one_with_an_event(journal: PostgresJournal) -> UUID:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, events=(event(),)))
    return instance_id


async def nothing(journal: PostgresJournal) -> UUID:
    return new().instance_id


async def start(journal: PostgresJournal, instance_id: UUID) -> Any:
    return await journal.start(new(instance_id=instance_id), owner="a", ttl=OVER)


async def has_one_row(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert answer == Committed(1)
    found = await history(journal, instance_id)
    assert [kept.step_id for kept in found.rows] == [0]
    assert found.instance.state is State.RUNNING
    assert await journal.live_leases(instance_id) == 1


async def has_parked(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert isinstance(answer, Committed)
    found = await history(journal, instance_id)
    assert found.instance.state is State.SUSPENDED
    assert len(found.rows) == 1
    assert await journal.live_leases(instance_id) == 0


async def has_taken(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert isinstance(answer, Committed)
    found = await history(journal, instance_id)
    assert found.inbox == ()
    assert len(found.rows) == 1


async def has_completed(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert isinstance(answer, Committed)
    found = await history(journal, instance_id)
    assert (found.instance.state, found.instance.output, len(found.rows)) == (State.COMPLETED, "7", 1)


async def goes_on(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    """Its lease runs out, and then somebody goes on with it; a former owner has no say."""
    found = await history(journal, instance_id)
    claims = [await journal.claim(instance_id, owner="c", ttl=LONG)]
    assert isinstance(claims[0], Claimed)
    assert claims[0].lease.fencing_token == found.instance.fence + 1
    stale = await journal.commit(Commit(instance_id, found.instance.fence, rows=(row(9),)))
    assert isinstance(stale, Refused)
    assert stale.reason is Refusal.FENCED_OUT
    await done(journal, Commit(instance_id, found.instance.fence + 1, rows=(row(),)))


async def is_delivered_once(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert answer is None
    assert [kept.delivery_id for kept in (await history(journal, instance_id)).inbox] == ["d-1"]


async def is_delivered_once_and_goes_on(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert [kept.delivery_id for kept in (await history(journal, instance_id)).inbox] == ["d-1"]
    await goes_on(journal, instance_id, answer)


async def is_to_be_cancelled(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert (await history(journal, instance_id)).instance.cancel_reason == "enough"


async def an_undo_that_failed(journal: PostgresJournal) -> UUID:
    return await ended(journal, State.COMPENSATION_FAILED)


async def is_reopened_once(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    found = await history(journal, instance_id)
    assert (found.instance.state, len(found.rows)) == (State.COMPENSATING, 1)


async def has_answered(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert answer is not None


async def is_gone(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    assert await journal.read(instance_id) is None


async def is_claimable(journal: PostgresJournal, instance_id: UUID, answer: Any) -> None:
    await claimed(journal, instance_id)


async def claim_due(journal: PostgresJournal, instance_id: UUID) -> Any:
    return await journal.claim_due(now=NOON, owner="b", ttl=OVER, limit=5)


async def mark_published(journal: PostgresJournal, instance_id: UUID) -> Any:
    staged = await journal.events(instance_id)
    return await journal.mark_published(instance_id, [each.event_id for each in staged]) or "done"


B = Claimant("b", OVER)
PARK = {"state": State.SUSPENDED, "waits": (wait(),), "release_lease": True}
PARK_ON_TWO = PARK | {"waits": (wait(), wait("other", step_id=2))}
END = {"state": State.COMPLETED, "output": "7", "release_lease": True}


def commit(**parts: Any) -> Callable[[PostgresJournal, UUID], Awaitable[Any]]:
    return lambda journal, instance_id: journal.commit(Commit(instance_id, 1, rows=(row(),), **parts))


CALLS = {
    "start": Call(nothing, start, heals=False, stands=goes_on),
    "commit": Call(a_running, commit(), heals=True, stands=has_one_row),
    "park": Call(a_running, commit(**PARK), heals=True, stands=has_parked),
    "park on two": Call(a_running, commit(**PARK_ON_TWO), heals=True, stands=has_parked),
    "take": Call(a_signalled, commit(taken_deliveries=("d-1",)), heals=True, stands=has_taken),
    "finish": Call(a_running, commit(**END), heals=True, stands=has_completed),
    "claim": Call(a_parked, lambda j, i: j.claim(i, owner="b", ttl=OVER), heals=False, stands=goes_on),
    "claim_due": Call(a_parked, claim_due, heals=False, stands=goes_on),
    "claim_abandoned": Call(
        an_abandoned, lambda j, _: j.claim_abandoned(owner="b", ttl=OVER, limit=5), heals=False, stands=goes_on
    ),
    "renew": Call(a_running, lambda j, i: j.renew([i], owner="a", ttl=LONG), heals=True, stands=has_answered),
    "release": Call(a_running, lambda j, i: j.release(i, fencing_token=1), heals=True, stands=is_claimable),
    "deliver": Call(a_parked, lambda j, i: j.deliver(i, delivery()), heals=True, stands=is_delivered_once),
    "deliver and claim": Call(
        a_parked, lambda j, i: j.deliver(i, delivery(), claim_for=B), heals=True, stands=is_delivered_once_and_goes_on
    ),
    "request_cancel": Call(a_parked, lambda j, i: j.request_cancel(i, "enough"), heals=True, stands=is_to_be_cancelled),
    "cancel and claim": Call(
        a_parked, lambda j, i: j.request_cancel(i, "enough", claim_for=B), heals=True, stands=goes_on
    ),
    "reopen and claim": Call(
        an_undo_that_failed, lambda j, i: j.reopen(i, "ada", claim_for=B), heals=False, stands=is_reopened_once
    ),
    "reopen": Call(an_undo_that_failed, lambda j, i: j.reopen(i, "ada"), heals=False, stands=is_reopened_once),
    "prune": Call(an_ended, lambda j, _: j.prune(older_than=FAR), heals=False, stands=is_gone),
    "read": Call(a_parked, lambda j, i: j.read(i), heals=True, stands=has_answered),
    "find": Call(a_parked, lambda j, _: j.find(Filter()), heals=True, stands=has_answered),
    "events": Call(one_with_an_event, lambda j, i: j.events(i), heals=True, stands=has_answered),
    "mark_published": Call(one_with_an_event, mark_published, heals=True, stands=has_answered),
    "live_leases": Call(a_running, lambda j, i: j.live_leases(i), heals=True, stands=has_answered),
    "next_wake": Call(a_parked, lambda j, _: j.next_wake(), heals=True, stands=has_answered),
    "now": Call(a_parked, lambda j, _: j.now(), heals=True, stands=has_answered),
}
each_call = pytest.mark.parametrize("name", CALLS)


@each_call
@pytest.mark.parametrize("where", ["on the way there", "on the way back"])
async def test_a_call_whose_connection_is_cut(journal: PostgresJournal, wire: Wire, name: str, where) -> None:
    call = CALLS[name]
    instance_id = await call.scene(journal)
    wire.cut(where)
    try:
        answer = await call.call(journal, instance_id)
    except JournalUnavailable as unavailable:
        assert not call.heals
        assert_one_sentence(unavailable)
        answer = await call.call(journal, instance_id)
    else:
        assert call.heals
    assert wire.was_cut
    await call.stands(journal, instance_id, answer)


@each_call
async def test_a_call_while_the_server_is_away(journal: PostgresJournal, wire: Wire, name: str) -> None:
    call = CALLS[name]
    instance_id = await call.scene(journal)
    for each in (journal._connections, journal._steps, journal._lines, journal._renewals):
        each._patience = PATIENCE.total_seconds()  # it will not come: nothing is won by waiting for long
    wire.go_down()
    with pytest.raises(JournalUnavailable) as unavailable:
        await call.call(journal, instance_id)
    assert_one_sentence(unavailable.value)
    wire.come_up()
    await call.stands(journal, instance_id, await call.call(journal, instance_id))


LOCKING = ("commit", "park", "park on two", "take", "finish", "claim", "release", "deliver", "request_cancel")


@pytest.mark.parametrize("name", LOCKING)
async def test_a_call_whose_backend_is_ended_while_it_works(
    journal: PostgresJournal, connection: AsyncConnection[Any], schema: str, name: str
) -> None:
    call = CALLS[name]
    instance_id = await call.scene(journal)
    async with connection.transaction():
        await connection.execute(f"select from {schema}.flow_instance for update".encode())
        calling = asyncio.create_task(until_it_answers(lambda: call.call(journal, instance_id)))
        ended_backends = 0
        while not ended_backends:
            assert not calling.done()
            await connection.execute("select pg_stat_clear_snapshot()")
            cursor = await connection.execute(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'flowx'"
                " and wait_event_type = 'Lock' and %s = any (pg_blocking_pids(pid))",
                [connection.info.backend_pid],
            )
            (ended_backends,) = await cursor.fetchone() or (0,)
    await call.stands(journal, instance_id, await calling)


async def test_a_group_whose_answer_is_lost_has_each_of_its_rows_once(journal: PostgresJournal, wire: Wire) -> None:
    for where in ("on the way there", "on the way back"):
        instances = await asyncio.gather(*(started(journal) for _ in range(30)))
        wire.cut(where)
        commits = (Commit(each, 1, rows=(row(),), **(PARK if n % 2 else {})) for n, each in enumerate(instances))
        answers = await asyncio.gather(*(journal.commit(each) for each in commits))
        assert wire.was_cut
        assert answers == [Committed(1)] * 30
        for each in instances:
            assert len((await history(journal, each)).rows) == 1


async def test_a_park_whose_answer_is_lost_and_that_was_signalled_since_is_left_to_the_sweep(
    journal: PostgresJournal, wire: Wire, postgres_dsn: str, schema: str
) -> None:
    other = await PostgresJournal.open(postgres_dsn, schema=schema)
    instance_id = await started(journal)
    commit = Commit(instance_id, 1, rows=(row(),), **PARK)
    first = journal._commit

    async def lost(commit: Commit) -> Any:
        journal._commit = first  # type: ignore[method-assign]
        await first(commit)
        await other.deliver(instance_id, delivery())
        raise JournalUnavailable("the answer is lost")

    journal._commit = lost  # type: ignore[method-assign]
    with pytest.raises(JournalUnavailable, match="the answer is lost"):
        await journal.commit(commit)
    assert [each.lease.instance_id for each in await claim_due(other, instance_id)] == [instance_id]
    await other.close()


async def test_a_duplicate_is_still_a_duplicate_when_it_is_sent_twice(journal: PostgresJournal, wire: Wire) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    wire.cut("on the way there")
    answer = await journal.commit(Commit(instance_id, 1, rows=(row(), row(1))))
    assert answer == Refused(Refusal.DUPLICATE_STEP, "a row with its key exists")


@pytest.mark.parametrize("message", range(4), ids=["begin", "the step's own statement", "its row", "commit"])
@pytest.mark.parametrize("where", ["on the way there", "on the way back"])
async def test_a_step_transaction_that_is_cut_is_whole_or_never_was(
    journal: PostgresJournal, wire: Wire, connection: AsyncConnection[Any], schema: str, message: int, where
) -> None:
    await connection.execute(f"create table {schema}.booking (seat text primary key)".encode())
    instance_id = await started(journal)
    wire.cut(where, after=message)

    async def book() -> None:
        async with journal.transaction() as step:
            await step.connection.execute(f"insert into {schema}.booking values ('12A')".encode())
            await step.commit(Commit(instance_id, 1, rows=(row(),)))

    with pytest.raises(JournalUnavailable) as unavailable:
        await book()
    assert_one_sentence(unavailable.value)
    rows = len((await history(journal, instance_id)).rows)
    cursor = await connection.execute(f"select count(*) from {schema}.booking".encode())
    assert await cursor.fetchone() == (rows,)
    assert rows == (1 if (message, where) == (3, "on the way back") else 0)


async def test_a_server_that_takes_requests_and_never_answers_is_given_up(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str
) -> None:
    journal = await PostgresJournal.open(
        postgres_dsn, schema=schema, patience=PATIENCE, answer_within=timedelta(seconds=0.2)
    )
    instance_id = await started(journal, ttl=OVER)
    async with connection.transaction():
        await connection.execute(f"select from {schema}.flow_instance for update".encode())
        with pytest.raises(JournalUnavailable, match=r"no answer within 0\.2 s"):
            await journal.commit(Commit(instance_id, 1, rows=(row(),)))
        assert len(await journal.find(Filter())) == 1
    # The server may still carry it out, until somebody has raised the fence; then it never does.
    claim = await until_it_answers(lambda: journal.claim(instance_id, owner="b", ttl=LONG))
    await done(journal, Commit(instance_id, 2, rows=(row(1),)))
    assert (await history(journal, instance_id)).rows[:-1] == claim.history.rows
    await journal.close()


async def test_a_backend_that_is_stopped_costs_its_connection_and_cannot_write_afterwards(
    postgres_dsn: str, schema: str
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, answer_within=timedelta(seconds=0.3))
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    ((used, _),) = journal._lines._idle
    backend = used.info.backend_pid
    try:
        os.kill(backend, signal.SIGSTOP)
    except (PermissionError, ProcessLookupError):
        pytest.skip("the server is another user's or another machine's")
    try:
        assert await journal.commit(Commit(instance_id, 1, rows=(row(1),), **PARK)) == Committed(2)
    finally:
        os.kill(backend, signal.SIGCONT)  # it now reads what it was sent
    claim = await claimed(journal, instance_id)
    await done(journal, Commit(instance_id, claim.lease.fencing_token, rows=(row(2),), state=State.RUNNING))
    while await is_there(journal, backend):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    found = await history(journal, instance_id)
    assert [kept.step_id for kept in found.rows] == [0, 1, 2]
    assert found.instance.state is State.RUNNING
    await journal.close()


async def is_there(journal: PostgresJournal, backend: int) -> bool:
    async with journal._connections.borrow() as connection:
        cursor = await connection.execute("select exists (select from pg_stat_activity where pid = %s)", [backend])
        return await cursor.fetchone() == (True,)


async def test_steps_that_keep_their_transactions_open_hold_up_neither_commits_nor_renewals(
    postgres_dsn: str, schema: str
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=2, patience=PATIENCE)
    instance_id = await started(journal, owner="a")
    async with journal.transaction():
        await done(journal, Commit(instance_id, 1, rows=(row(),)))
        assert await journal.renew([instance_id], owner="a", ttl=LONG) == {instance_id}
    async with journal._connections.borrow():
        with pytest.raises(JournalUnavailable, match="all 1 connections were busy"):
            await journal.read(instance_id)
        assert await journal.renew([instance_id], owner="a", ttl=LONG) == {instance_id}
        await done(journal, Commit(instance_id, 1, rows=(row(1),)))
    await journal.close()


async def test_a_server_whose_sessions_are_serializable_by_default_serves_as_well(
    postgres_dsn: str, schema: str
) -> None:
    dsn = f"{postgres_dsn}&options=-c%20default_transaction_isolation%3Dserializable%20-c%20datestyle%3DGerman"
    journal = await PostgresJournal.open(dsn, schema=schema)
    instances = await asyncio.gather(*(parked(journal) for _ in range(8)))
    deliveries = [(each, delivery(f"d-{n}")) for each in instances for n in range(5)]
    assert set(await asyncio.gather(*(journal.deliver(each, sent) for each, sent in deliveries))) == {None}
    for each in instances:
        assert len((await history(journal, each)).inbox) == 5
    await journal.close()


async def test_a_server_that_only_reads_is_unavailable(postgres_dsn: str, schema: str) -> None:
    await (await PostgresJournal.open(postgres_dsn, schema=schema)).close()
    dsn = f"{postgres_dsn}&options=-c%20default_transaction_read_only%3Don"
    standby = await PostgresJournal.open(dsn, schema=schema, migrate=False, patience=PATIENCE)
    with pytest.raises(JournalUnavailable, match="read-only"):
        await started(standby)
    await standby.close()


def assert_one_sentence(error: Exception) -> None:
    said = str(error)
    assert said.startswith("the journal's database at ")
    assert "cannot be reached and will be tried again: " in said
    assert "\n" not in said


async def test_a_step_waits_its_turn_for_a_transaction_however_long_the_others_take(
    postgres_dsn: str, schema: str
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=2, patience=PATIENCE)
    first, second = await started(journal), await started(journal)
    async with journal.transaction() as step:
        waiting = asyncio.create_task(in_a_transaction(journal, second))
        await asyncio.wait([waiting], timeout=3 * PATIENCE.total_seconds())
        assert not waiting.done()
        await step.commit(Commit(first, 1, rows=(row(),)))
    assert isinstance(await waiting, Committed)
    await journal.close()


async def test_a_step_that_waits_its_turn_is_told_when_the_journal_is_closed(postgres_dsn: str, schema: str) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=2, patience=PATIENCE)
    instance = await started(journal)
    async with journal.transaction():
        waiting = asyncio.create_task(in_a_transaction(journal, instance))
        await asyncio.sleep(0)
        await journal.close()
    with pytest.raises(JournalUnavailable, match="closed"):
        await waiting


async def in_a_transaction(journal: PostgresJournal, instance: UUID) -> Committed | Refused:
    async with journal.transaction() as step:
        return await step.commit(Commit(instance, 1, rows=(row(),)))


async def test_who_cannot_connect_takes_what_its_own_pool_gets_back(
    postgres_dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4, patience=LONG)
    tried = asyncio.Event()

    async def too_many(*_: Any, **__: Any) -> Any:
        tried.set()
        raise OperationalError("FATAL:  too many connections for role")

    async with journal._connections.borrow():
        monkeypatch.setattr(AsyncConnection, "connect", too_many)
        asking = asyncio.create_task(journal._connections.fetch(b"select 1", ()))
        await tried.wait()
    assert await asyncio.wait_for(asking, 10) == [(1,)]
    await journal.close()
