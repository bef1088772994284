"""Several nodes publish from one database, and some of them die."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outbox_scene import LONG, PROMPT, Remembering, drain, number_of, refusing, stage, stage_many, until

from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.outbox import Settlement
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.publisher import PublisherUnavailable, PublishRefused

ROOT = Path(__file__).parents[2]


async def publish_by_three_nodes(journals: list[Any], random: Random, *, instances: int, count: int) -> None:
    """Every event leaves once and in order, whoever publishes it and whatever fails; poison ones do not leave."""
    staged = await stage_many(journals[0], instances, count)
    poison = {(instance_id, random.randrange(count)) for instance_id in random.sample(staged, instances // 4)}

    async def fails_at_times(envelope: Envelope) -> None:
        await asyncio.sleep(random.choice((0, 0, 0.001)))
        if (envelope.instance_id, number_of(envelope)) in poison:
            raise PublishRefused("not this one")
        if random.random() < 0.15:
            raise random.choice((PublisherUnavailable("away"), TimeoutError(), ConnectionResetError()))

    publisher = Remembering(fails_at_times)
    knobs = replace(PROMPT, batch=16, per_instance=3, concurrency=4)
    nodes = [drain(journal, publisher, knobs, owner=f"node {n}") for n, journal in enumerate(journals)]
    expected = instances * count - len(poison)

    async def all_at_once() -> None:
        await asyncio.gather(*(node.drain_once() for node in nodes))

    def is_done() -> bool:
        return len(publisher.taken) >= expected and sum(node.counts.poisoned for node in nodes) == len(poison)

    await until(is_done, work=all_at_once)
    await all_at_once()
    for instance_id in staged:
        left = [n for n in range(count) if (instance_id, n) not in poison]
        assert publisher.numbers(instance_id) == left
    set_aside = {(each.instance_id, each.event.payload) for each in await journals[0].poisoned_events()}
    assert set_aside == {(instance_id, f'{{"n": {n}}}') for instance_id, n in poison}
    assert len({envelope.event_id for envelope in publisher.taken}) == expected


@pytest.mark.parametrize("seed", range(3))
async def test_three_nodes_share_the_work_and_keep_the_order_of_every_instance(postgres_dsn, schema, seed) -> None:
    journals = [await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4) for _ in range(3)]
    await publish_by_three_nodes(journals, Random(seed), instances=24, count=8)
    for journal in journals:
        await journal.close()


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 9))
@settings(max_examples=15)
def test_whatever_the_luck_order_holds_and_nothing_is_lost_or_doubled(seed: int, instances: int, count: int) -> None:
    async def run() -> None:
        journal = MemoryJournal()
        await publish_by_three_nodes([journal] * 3, Random(seed), instances=instances, count=count)

    asyncio.run(run())


async def test_a_poison_event_stops_no_node(postgres_dsn, schema) -> None:
    journals = [await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4) for _ in range(2)]
    bad = await stage(journals[0], 3)
    good = await stage_many(journals[0], 20, 2)
    publisher = refusing(2)
    nodes = [drain(journal, publisher, owner=f"node {n}") for n, journal in enumerate(journals)]
    await until(
        lambda: sum(node.counts.poisoned for node in nodes) == 1,
        work=lambda: asyncio.gather(*(node.drain_once() for node in nodes)),
    )
    assert publisher.numbers(bad) == [0, 1]
    assert all(publisher.numbers(instance_id) == [0, 1] for instance_id in good)
    for journal in journals:
        await journal.close()


NODE = """
import asyncio, os, signal, sys
sys.path[:0] = [{root!r}, {tests!r}]
from dataclasses import replace
from datetime import timedelta
from outbox_scene import PROMPT, drain
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.outbox.jsonl import JsonlPublisher

class Dying(PostgresJournal):
    settled = 0

    async def settle_events(self, settlement):
        if settlement.published and self.settled >= {settles}:
            os.kill(os.getpid(), signal.SIGKILL)
        Dying.settled += 1
        await super().settle_events(settlement)

async def main():
    journal = await Dying.open({dsn!r}, schema={schema!r}, pool_size=2)
    knobs = replace(PROMPT, batch=40)
    await drain(journal, JsonlPublisher({path!r}), knobs, owner="dying").drain_once()

asyncio.run(main())
"""


@pytest.mark.parametrize("settles", [0, 2])
async def test_a_node_killed_between_publishing_and_noting_it_repeats_and_loses_nothing(
    postgres, postgres_dsn, schema, tmp_path, settles
) -> None:
    staged = await stage_many(postgres, 12, 10)
    path = tmp_path / "events.jsonl"
    program = NODE.format(
        root=str(ROOT),
        tests=str(Path(__file__).parent),
        dsn=postgres_dsn,
        schema=schema,
        path=str(path),
        settles=settles,
    )
    node = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert node.returncode == -signal.SIGKILL, node.stderr
    by_the_dead = Counter(line for line in path.read_text("utf-8").splitlines())
    assert by_the_dead
    assert set(by_the_dead.values()) == {1}
    publisher = Remembering()
    survivor = drain(postgres, publisher)
    noted = await noted_as_published(postgres)
    await let_claims_lapse(postgres_dsn, schema, "dying")
    await until(lambda: len(publisher.taken) + noted >= 120, work=survivor.drain_once)
    by_the_living = Counter(envelope.document() for envelope in publisher.taken)
    assert set(by_the_living.values()) == {1}
    assert len(by_the_dead | by_the_living) == 120
    assert len(by_the_dead & by_the_living) == len(by_the_dead) - noted, "what was noted is not repeated"
    for instance_id in staged:
        mine = publisher.numbers(instance_id)
        assert mine == list(range(10 - len(mine), 10)), "what is repeated is repeated in order"


SLOW_NODE = """
import asyncio, sys
sys.path[:0] = [{root!r}, {tests!r}]
from dataclasses import replace
from datetime import timedelta
from outbox_scene import PROMPT, drain
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.outbox.jsonl import JsonlPublisher

class Slow(JsonlPublisher):
    async def publish(self, envelope):
        await asyncio.sleep(0.002)
        await super().publish(envelope)

async def main():
    journal = await PostgresJournal.open({dsn!r}, schema={schema!r}, pool_size=2)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    knobs = replace(
        PROMPT, batch=60, per_instance=4, concurrency=4, claim_ttl=timedelta(minutes=5)
    )
    await drain(journal, Slow({path!r}), knobs, owner=sys.argv[1]).run(asyncio.Event())

asyncio.run(main())
"""


@pytest.mark.slow  # three processes start
async def test_of_three_processes_two_are_killed_and_the_third_publishes_all_the_rest_in_order(
    postgres, postgres_dsn, schema, tmp_path
) -> None:
    staged = await stage_many(postgres, 30, 20)
    path = tmp_path / "events.jsonl"
    path.touch()
    program = SLOW_NODE.format(
        root=str(ROOT), tests=str(Path(__file__).parent), dsn=postgres_dsn, schema=schema, path=str(path)
    )
    nodes = [start(program, f"node {n}") for n in range(3)]
    try:
        for node in nodes:
            assert node.stdout is not None
            assert node.stdout.readline() == "ready\n"
        for node in nodes:
            assert node.stdin is not None
            node.stdin.write("go\n")
            node.stdin.flush()
        for victim, lines in ((nodes[0], 60), (nodes[1], 200)):
            await until(lambda least=lines: len(path.read_bytes().splitlines()) >= least, work=_turn)  # type: ignore[misc]
            victim.kill()
            victim.wait()
            await let_claims_lapse(postgres_dsn, schema, f"node {nodes.index(victim)}")
        passes = 0
        while await noted_as_published(postgres) < 600:
            passes += 1
            assert passes < 3000
            if passes % 50 == 0:  # a claim may have been under way when its node was killed
                await let_claims_lapse(postgres_dsn, schema, "node 0")
                await let_claims_lapse(postgres_dsn, schema, "node 1")
            await asyncio.sleep(0.01)
    finally:
        for node in nodes:
            node.kill()
            node.communicate()
    written = [json.loads(line) for line in path.read_bytes().splitlines()]
    firsts = {document["id"]: document for document in reversed(written)}.values()
    for instance_id in staged:
        mine = [document for document in written if document["subject"] == str(instance_id)]
        order = sorted((document for document in firsts if document["subject"] == str(instance_id)), key=mine.index)
        assert [document["data"]["n"] for document in order] == list(range(20))
    assert 600 <= len(written) <= 600 + 2 * 60, "only what the killed had in hand is repeated"


def start(program: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, name], stdin=-1, stdout=-1, text=True)


async def _turn() -> None:
    await asyncio.sleep(0)


async def noted_as_published(journal: PostgresJournal) -> int:
    async with journal.transaction() as looking:
        cursor = await looking.connection.execute(
            f'select count(*) from "{schema_of(journal)}".outbox_event where published_at is not null'.encode()
        )
        (count,) = await cursor.fetchone()  # type: ignore[misc]
        return int(count)


async def let_claims_lapse(dsn: str, schema: str, owner: str) -> None:
    """What time does by itself."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other:
        query = f'update "{schema}".outbox_claim set expires_at = now() where owner = %s'
        await other.execute(query.encode(), [owner])


def schema_of(journal: PostgresJournal) -> str:
    return journal._sql["mark_published"].decode().split('"')[1]


@pytest.mark.slow  # starts a server of its own, twice
async def test_p15_a_server_that_restarts_while_events_are_published_repeats_none(open_folder) -> None:
    server = EmbeddedServer(open_folder / "data", settings={"fsync": "off"})
    journal = await PostgresJournal.open(server.dsn, pool_size=4)
    staged = await stage_many(journal, 5, 20)
    has_restarted = False

    async def restarts_the_server(envelope: Envelope) -> None:
        nonlocal has_restarted
        if number_of(envelope) == 10 and not has_restarted:
            has_restarted = True
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)

    publisher = Remembering(restarts_the_server)
    draining = drain(journal, publisher, replace(PROMPT, timeout=timedelta(seconds=30), claim_ttl=LONG))
    stopping = asyncio.Event()
    running = asyncio.create_task(draining.run(stopping))
    await until(lambda: len(publisher.taken) >= 100, work=lambda: asyncio.sleep(0.02))
    stopping.set()
    await running
    for instance_id in staged:
        assert publisher.numbers(instance_id) == list(range(20))
    assert await noted_as_published(journal) == 100
    await journal.close()
    server.stop()


async def test_no_transaction_is_open_and_no_row_locked_while_a_publisher_works(postgres, postgres_dsn, schema) -> None:
    instance_id = await stage(postgres, 1)
    seen: list[Any] = []

    async def looks(_: Envelope) -> None:
        async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as other:
            cursor = await other.execute(
                "select count(*) from pg_locks l join pg_class c on c.oid = l.relation"
                " join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s",
                [schema],
            )
            seen.append(await cursor.fetchone())
            for table in ("outbox_event", "flow_instance"):
                query = (
                    f'select count(*) from (select from "{schema}".{table} where instance_id = %s for update nowait) x'
                )
                cursor = await other.execute(query.encode(), [instance_id])
                seen.append(await cursor.fetchone())

    assert await drain(postgres, Remembering(looks)).drain_once() == 1
    assert seen == [(0,), (1,), (1,)]


async def test_ten_thousand_events_take_few_statements(postgres, monkeypatch) -> None:
    await stage_many(postgres, 1000, 10)
    statements = 0
    fetch = Connections.fetch

    async def counting(self: Connections, query: bytes, parameters: Any) -> Any:
        nonlocal statements
        statements += 1
        return await fetch(self, query, parameters)

    monkeypatch.setattr(Connections, "fetch", counting)
    publisher = Remembering()
    assert await drain(postgres, publisher).drain_once() == 10_000
    assert len({envelope.event_id for envelope in publisher.taken}) == 10_000
    assert statements <= 100, f"{statements} statements"


async def test_p38_a_claim_looks_once_for_each_event_that_is_due_also_where_nothing_is_known_of_the_table(
    postgres, schema
) -> None:
    """No statistics, as after an upgrade or a bulk of starts: the plan must not read the index once per event."""
    await stage_many(postgres, 300, 10)
    call = f"select * from \"{schema}\".claim_events(gen_random_uuid(), 'x', '1 h', 200, 64)"
    async with postgres.transaction() as looking:
        cursor = await looking.connection.execute(f"explain (analyze, buffers, format json) {call}".encode())
        ((explained,),) = await cursor.fetchall()
    plan = explained[0]["Plan"]
    assert plan["Actual Rows"] == 201  # and the row that says when
    assert plan["Shared Hit Blocks"] < 20 * 3000


async def test_a_claim_that_comes_between_a_look_and_a_claim_wins(postgres, postgres_dsn, schema) -> None:
    """The second node has looked before the first one's claim was to be seen, and claims after it."""
    instance_id = await stage(postgres, 1)
    async with await psycopg.AsyncConnection.connect(postgres_dsn) as other:
        insert = (
            f"insert into \"{schema}\".outbox_claim values (%s, gen_random_uuid(), 'other', now() + interval '1 h')"
        )
        await other.execute(insert.encode(), [instance_id])
        claiming = asyncio.create_task(postgres.claim_events(owner="late", ttl=LONG, limit=10))
        async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as watching:

            async def is_waiting() -> bool:
                query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like %s"
                cursor = await watching.execute(query, [f"%{schema}%claim_events%"])
                return await cursor.fetchone() == (1,)

            while not await is_waiting():
                assert not claiming.done()
                await asyncio.sleep(0.01)
        await other.commit()
    assert (await claiming).events == ()


async def test_settling_in_any_order_and_twice_is_harmless(postgres) -> None:
    await stage_many(postgres, 3, 3)
    given_out = await postgres.claim_events(owner="a", ttl=LONG, limit=100)
    keys = tuple((each.instance_id, each.event.event_id) for each in given_out.events)
    settlements = [Settlement(published=keys), Settlement(published=keys[::-1])] * 5
    await asyncio.gather(*(postgres.settle_events(settlement) for settlement in settlements))
    assert (await postgres.claim_events(owner="b", ttl=LONG, limit=100)).events == ()
