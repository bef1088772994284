"""The engine on a real database: the same flows, and what only a database can do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import (
    CLASSES,
    OCR_SIGNAL,
    SIGNED,
    Job,
    OcrCompleted,
    Refused,
    Signed,
    Submit,
    World,
    archive,
    document_plan,
    extract,
    plan,
    upload,
)
from engine_scene import VirtualClock, no_pause

from flowx_runtime import Completed, Failed, FlowHost, PostgresJournal, Suspended
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, Delay, Parallel, Plan, SubFlow

ORDER = Submit(document_id="o")
DAY = timedelta(days=1)


class Node:
    """One process: a host on a journal of its own."""

    def __init__(self, journal: PostgresJournal, clock: VirtualClock, world: World) -> None:
        self.journal = journal
        self.clock = clock
        self.world = world

    def host(self, *plans: Plan[Any, Any], **changes: Any) -> FlowHost:
        targets = {
            use.target
            for each in plans
            for node in each.nodes
            for use in (getattr(node, "capability", None), getattr(node, "compensation", None))
            if use is not None
        }
        return FlowHost(
            plans,
            [cls(self.world) for cls in CLASSES if cls in targets],
            journal=self.journal,
            clock=self.clock,
            sweep_interval=None,
            pause=no_pause,
            **changes,
        )

    async def rows(self, instance_id: Any) -> list[str]:
        history = await self.journal.read(instance_id)
        assert history is not None
        return [f"{row.scope}|{row.step_id}|{row.capability_id}|{row.outcome.value}" for row in history.rows]

    async def state(self, instance_id: Any) -> State:
        history = await self.journal.read(instance_id)
        assert history is not None
        return history.instance.state


@pytest.fixture
async def node(postgres_dsn: str, schema: str) -> AsyncIterator[Node]:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    yield Node(journal, VirtualClock(), World())
    await journal.close()


async def test_a_poll_parks_wakes_and_completes(node: Node):
    host = node.host(document_plan())
    outcome = await host.run("document.process", ORDER, idempotency_key="k")
    assert isinstance(outcome, Suspended)
    while await node.state(outcome.instance_id) is State.SUSPENDED:
        node.clock.move_to(await node.journal.next_wake())
        await host.sweep_once()
    assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert [row for row in await node.rows(outcome.instance_id) if "ocr.status" in row] == [
        f"{attempt}|2|ocr.status|Success" for attempt in range(3)
    ]
    assert isinstance(await host.run("document.process", ORDER, idempotency_key="k"), Completed)


async def test_several_waits_are_kept_apart(node: Node):
    two = plan(
        Parallel(0, (1, 3), 5, Merge.ALL_MUST_SUCCEED),
        AwaitSignal(1, "signed", SIGNED, 7 * DAY),
        archive(2),
        AwaitSignal(3, "ocr", OCR_SIGNAL, 3 * DAY),
        upload(4),
        extract(5),
    )
    host = node.host(two)
    outcome = await host.run("document.process", ORDER)
    assert outcome.awaiting == ("offer.signed", "ocr.completed")
    await host.signal(outcome.instance_id, OcrCompleted(job_id="x"))
    assert (await host.outcome(outcome.instance_id)).awaiting == ("offer.signed",)
    await host.signal(outcome.instance_id, Signed(by="ada"))
    assert isinstance(await host.outcome(outcome.instance_id), Completed)


async def test_a_child_that_waits_wakes_its_parent_and_is_undone_with_it(node: Node):
    parent = plan(
        archive(0),
        SubFlow(1, "child", "child", "1.0.0", lambda ctx: Submit(document_id="c")),
        extract(2),
    )
    child = plan(upload(0), Delay(1, "rest", DAY), flow_id="child", output=Job, returns=lambda ctx: ctx.get(Job))
    host = node.host(parent, child)
    node.world.raising["document.extract"] = Refused()
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Suspended)
    node.clock.advance(DAY)
    await host.sweep_once()
    assert isinstance(await host.outcome(outcome.instance_id), Failed)
    assert node.world.effects == ["offer.archive(o)", "ocr.upload(c)", "ocr.cancel(job-c)", "offer.unarchive(o)"]


async def test_work_in_the_steps_transaction_commits_with_its_row_or_not_at_all(node: Node, schema: str):
    async def writes(request: Submit, ctx: Any) -> Job:
        async with ctx.transaction() as connection:
            await connection.execute(f'create table if not exists "{schema}".effect (name text)')
            await connection.execute(f'insert into "{schema}".effect values (%s)', [request.document_id])
        if request.note == "fail":
            raise Refused
        return Job(job_id="j")

    host = node.host(plan(upload(0), extract(1)), substitutes={"ocr.upload": writes})
    assert isinstance(await host.run("document.process", ORDER), Completed)
    failed = await host.run("document.process", Submit(document_id="never", note="fail"))
    assert isinstance(failed, Failed)
    async with node.journal.transaction() as transaction:
        found = await transaction.connection.execute(f'select name from "{schema}".effect')
        assert await found.fetchall() == [("o",)]
    assert await node.rows(failed.instance_id) == ["|0|ocr.upload|Failure"]


async def test_work_that_the_step_gave_up_on_is_undone_though_the_step_succeeds(node: Node, schema: str):
    async def tries(request: Submit, ctx: Any) -> Job:
        try:
            async with ctx.transaction() as connection:
                await connection.execute(f'create table "{schema}".given_up (name text)')
                raise LookupError
        except LookupError:
            return Job(job_id="without")

    outcome = await node.host(plan(upload(0)), substitutes={"ocr.upload": tries}).run("document.process", ORDER)
    assert isinstance(outcome, Completed)
    assert await node.rows(outcome.instance_id) == ["|0|ocr.upload|Success"]
    async with node.journal.transaction() as transaction:
        found = await transaction.connection.execute("select to_regclass(%s)", [f"{schema}.given_up"])
        assert await found.fetchone() == (None,)


async def test_a_connection_that_is_lost_in_the_steps_own_statement_is_no_failure_of_the_step(node: Node):
    tries = 0

    async def dies_once(request: Submit, ctx: Any) -> Job:
        nonlocal tries
        tries += 1
        async with ctx.transaction() as connection:
            if tries == 1:
                await connection.execute("select pg_terminate_backend(pg_backend_pid())")
        return Job(job_id="j")

    host = node.host(plan(upload(0)), substitutes={"ocr.upload": dies_once}, lease_ttl=timedelta(0))
    with pytest.raises(JournalUnavailable, match="the connection was lost in a step's transaction"):
        await host.run("document.process", ORDER, idempotency_key="k")
    await host.sweep_once()
    outcome = await host.run("document.process", ORDER, idempotency_key="k")
    assert isinstance(outcome, Completed)
    assert await node.rows(outcome.instance_id) == ["|0|ocr.upload|Success"]
    assert tries == 2


async def test_work_that_the_database_refuses_at_the_commit_fails_the_step(node: Node, schema: str):
    async def breaks_a_promise(request: Submit, ctx: Any) -> Job:
        async with ctx.transaction() as connection:
            await connection.execute(
                f'create table "{schema}".promise (n integer primary key,'
                f' m integer references "{schema}".promise deferrable initially deferred)'
            )
            await connection.execute(f'insert into "{schema}".promise values (1, 2)')
        return Job(job_id="j")

    host = node.host(plan(upload(0)), substitutes={"ocr.upload": breaks_a_promise})
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.unhandled"
    assert await node.rows(outcome.instance_id) == ["|0|ocr.upload|Failure"]
