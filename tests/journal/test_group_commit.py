"""Writes that wait at the same time share a transaction, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from journal_scene import LONG, done, history, new, row, started
from psycopg import AsyncConnection

from flowx_runtime.journal.contract import NotStorable
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import Commit, Committed, Refusal, Refused


@pytest.fixture
async def journal(postgres_dsn: str, schema: str) -> AsyncIterator[PostgresJournal]:
    store = await PostgresJournal.open(postgres_dsn, schema=schema)
    yield store
    await store.close()


async def test_writes_that_wait_together_share_a_transaction(journal, postgres_dsn, schema) -> None:
    instances = await asyncio.gather(*(started(journal) for _ in range(40)))
    await asyncio.gather(*(done(journal, Commit(i, 1, rows=(row(),))) for i in instances))
    async with await AsyncConnection.connect(postgres_dsn) as connection:
        for table in ("flow_step", "flow_lease"):
            cursor = await connection.execute(f"select count(*), count(distinct xmin::text) from {schema}.{table}")
            rows, transactions = await cursor.fetchone() or (0, 0)
            assert rows == 40
            assert transactions <= 5, table


async def test_a_refused_write_leaves_the_others_of_its_group_alone(journal) -> None:
    instances = [await started(journal) for _ in range(12)]
    for duplicate in instances[4:6]:
        await done(journal, Commit(duplicate, 1, rows=(row(),)))
    answers = await asyncio.gather(
        *(journal.commit(Commit(i, 0 if i == instances[7] else 1, rows=(row(),))) for i in instances)
    )
    reasons = [answer.reason if isinstance(answer, Refused) else None for answer in answers]
    expected = [None] * 12
    expected[4:6] = [Refusal.DUPLICATE_STEP] * 2  # type: ignore[list-item]
    expected[7] = Refusal.FENCED_OUT  # type: ignore[call-overload]
    assert reasons == expected


async def test_a_write_that_cannot_be_stored_fails_alone(journal) -> None:
    instances = [await started(journal) for _ in range(12)]
    answers = await asyncio.gather(
        *(
            journal.commit(Commit(i, 1, rows=(row(result="not JSON" if i == instances[6] else "1"),)))
            for i in instances
        ),
        return_exceptions=True,
    )
    assert [n for n, answer in enumerate(answers) if not isinstance(answer, Committed)] == [6]
    assert isinstance(answers[6], NotStorable)


async def test_an_instance_that_another_transaction_holds_does_not_hold_up_the_others(journal) -> None:
    instances = [await started(journal) for _ in range(12)]
    held = instances[6]
    async with journal.transaction() as step:
        await step.commit(Commit(held, 1, rows=(row(0),)))
        waiting = asyncio.create_task(journal.commit(Commit(held, 1, rows=(row(1),))))
        others = [i for i in instances if i != held]
        await asyncio.gather(*(done(journal, Commit(i, 1, rows=(row(1),))) for i in others))
        assert not waiting.done()
    assert await waiting == Committed(2)


async def test_a_caller_that_is_cancelled_takes_nobody_with_it(journal) -> None:
    instances = [await started(journal) for _ in range(12)]
    calls = [asyncio.create_task(journal.commit(Commit(i, 1, rows=(row(),)))) for i in instances]
    await asyncio.sleep(0)  # one turn: the first ones are on their way, the rest wait
    for cancelled in (calls[0], calls[5]):
        cancelled.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    lost = [n for n, answer in enumerate(answers) if isinstance(answer, asyncio.CancelledError)]
    assert lost == [0, 5]
    assert all(isinstance(answer, Committed) for n, answer in enumerate(answers) if n not in lost)
    await done(journal, Commit(instances[5], 1, rows=(row(9),)))


async def test_a_start_that_exists_is_given_back_from_within_a_group(journal) -> None:
    instance = new()
    await journal.start(instance, owner="a", ttl=LONG)
    answers = await asyncio.gather(*(journal.start(i, owner="b", ttl=LONG) for i in [new(), new(), instance, new()]))
    assert [answer.lease is None for answer in answers] == [False, False, True, False]
    assert answers[2].history == await history(journal, instance.instance_id)


async def test_writes_that_come_together_go_on_their_way_in_two_halves(journal, monkeypatch) -> None:
    sizes: list[int] = []
    send = journal._group._send

    async def counted(group: list[Any]) -> None:
        sizes.append(len(group))
        await send(group)

    instances = await asyncio.gather(*(started(journal) for _ in range(40)))
    monkeypatch.setattr(journal._group, "_send", counted)
    for step in range(3):
        await asyncio.gather(*(done(journal, Commit(i, 1, rows=(row(step),))) for i in instances))
    assert sum(sizes) == 120
    assert max(sizes) <= 20
