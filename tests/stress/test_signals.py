"""Eight senders, a thousand signals, two processes that work on them and one of them killed: each is taken once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import TupleRow

from flowx_runtime import PostgresJournal, Suspended
from flowx_runtime.engine.identity import mint_id
from flowx_runtime.journal.records import Delivery, NewInstance, Refusal, Refused
from tests.stress.parcels import PARCELS, PLAN, Order, node

ROOT = Path(__file__).parents[2]
INSTANCES = 200
SENDERS = 8


@contextmanager
def worker(dsn: str, schema: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stress.parcels", dsn, schema],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


class Database:
    """What the tables say, whoever wrote them."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._connection: psycopg.Connection[TupleRow] = psycopg.connect(dsn, autocommit=True)
        self._schema = schema

    def rows(self, query: str) -> list[Any]:
        return self._connection.execute(query.format(s=self._schema).encode()).fetchall()

    async def until(self, query: str, at_least: int) -> None:
        """Until other processes have come so far; only their rows tell."""
        while self.count(query) < at_least:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def count(self, query: str) -> int:
        return int(self.rows(query)[0][0])


async def some_that_are_waiting(dsn: str, schema: str, how_many: int) -> list[UUID]:
    async with await node(dsn, schema, sweep_interval=None) as host:
        outcomes = [await host.run(PLAN, Order(order_id=str(n))) for n in range(how_many)]
    assert all(isinstance(outcome, Suspended) for outcome in outcomes)
    return [outcome.instance_id for outcome in outcomes]


async def some_that_nobody_has_begun(journal: PostgresJournal, how_many: int) -> list[UUID]:
    """Whoever started them died at once: what is sent to them comes before their waits open."""
    made = []
    for n in range(how_many):
        instance_id = mint_id(await journal.now())
        new = NewInstance(instance_id, PLAN.flow_id, PLAN.version, PLAN.digest, f'{{"order_id":"{n}"}}')
        await journal.start(new, owner="gone", ttl=timedelta(0))
        made.append(instance_id)
    return made


@pytest.mark.slow  # processes, one of them killed while it works
async def test_every_accepted_signal_is_taken_once(postgres_dsn: str, schema: str) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    database = Database(postgres_dsn, schema)
    early = await some_that_nobody_has_begun(journal, INSTANCES // 2)
    instances = early + await some_that_are_waiting(postgres_dsn, schema, INSTANCES - len(early))
    sent = [(each, f"parcel-{n}") for each in instances for n in range(PARCELS)]
    with_repeats = sent + Random(7).choices(sent, k=len(sent) // 4)
    Random(8).shuffle(with_repeats)
    queue = iter(with_repeats)

    async def send() -> None:
        for instance_id, parcel in queue:
            # A repeat may come when its instance has ended: it is still the delivery that is known.
            delivery = Delivery(parcel, "parcel.arrived", f'{{"parcel_id":"{parcel}"}}')
            assert await journal.deliver(instance_id, delivery) is None

    with ExitStack() as stack:
        workers = [stack.enter_context(worker(postgres_dsn, schema)) for _ in range(2)]
        for each in workers:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        sending = [asyncio.create_task(send()) for _ in range(SENDERS)]
        await database.until("select count(taken_at) from {s}.flow_inbox", len(sent) // 4)
        workers[0].send_signal(signal.SIGKILL)
        await asyncio.gather(*sending)
        await database.until("select count(*) from {s}.flow_instance where state = 'Completed'", INSTANCES)

    taken = database.rows(
        "select instance_id, result ->> 'parcel_id' from {s}.flow_step where capability_id = 'parcel.arrived'"
    )
    assert Counter(taken) == Counter(sent)
    assert database.rows("select count(*), count(taken_at) from {s}.flow_inbox") == [(len(sent), len(sent))]
    assert database.count("select count(*) from {s}.flow_step") == len(sent) + 2 * INSTANCES
    assert database.count("select count(*) from {s}.flow_lease") == 0

    late = Delivery("late", "parcel.arrived", '{"parcel_id":"late"}')
    assert await journal.deliver(instances[0], late) == Refused(Refusal.INSTANCE_TERMINAL)
    assert await journal.deliver(uuid4(), late) == Refused(Refusal.UNKNOWN_INSTANCE)
    await journal.close()
