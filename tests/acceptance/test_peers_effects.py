"""Duplicate effects and idempotency: cases users of other engines reported, by their number."""

from __future__ import annotations

import asyncio
import threading

import pytest

from flowx_runtime import (
    Backoff,
    Completed,
    Contract,
    Failed,
    KeyRing,
    Merge,
    PolicySet,
    PostgresJournal,
    Retry,
    Sensitive,
    StepContext,
    Suspended,
)
from flowx_runtime.journal.records import Commit, Refusal, Refused, RowOutcome, StepRow
from flowx_runtime.plan import AwaitSignal, Delay, Emit, Parallel
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    NOTED,
    ORDER,
    Approved,
    CrashingJournal,
    Note,
    Noted,
    Order,
    OutOfStock,
    World,
    node,
    plan,
    raising,
    step,
    to_the_end,
)

THREE_TIMES = PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.1S")), timeout="PT0.05S")


async def test_p29_the_answer_of_an_attempt_that_timed_out_is_dropped_and_its_work_is_cancelled(
    database: Database, clock: VirtualClock
) -> None:
    cancelled, attempts = [], []

    async def slow_at_first(request: Order, ctx: StepContext) -> Note:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(ctx.attempt)
                raise
        return Note(text=f"attempt {ctx.attempt}")

    timed = plan(step(0, "pay", policy=THREE_TIMES), output=Note, returns=lambda ctx: ctx.get(Note))
    async with node(database, clock, World(answers={"pay": slow_at_first}), timed) as host:
        outcome = await host.run("order.place", ORDER)
    assert isinstance(outcome, Completed)
    assert outcome.value == Note(text="attempt 2")
    assert (attempts, cancelled) == ([1, 2], [1])
    assert database.rows("select attempt, outcome, error ->> 'code' from flow_step order by sequence") == [
        (1, "Failure", "capability.timed_out"),
        (2, "Success", None),
    ]


async def test_p29_a_function_that_outlives_its_timeout_in_its_thread_changes_nothing_any_more(
    database: Database, clock: VirtualClock
) -> None:
    outlived, release = threading.Event(), threading.Event()

    def slow_at_first(request: Order, ctx: StepContext) -> Note:
        if ctx.attempt == 1:
            release.wait(10)
            outlived.set()
        return Note(text=f"attempt {ctx.attempt}")

    timed = plan(step(0, "pay", policy=THREE_TIMES), output=Note, returns=lambda ctx: ctx.get(Note))
    async with node(database, clock, World(), timed, substitutes={"pay": slow_at_first}) as host:
        outcome = await host.run("order.place", ORDER)
        release.set()
        await asyncio.to_thread(outlived.wait, 10)
        assert await host.outcome(outcome.instance_id) == outcome
    assert isinstance(outcome, Completed)
    assert outcome.value == Note(text="attempt 2")
    assert database.rows("select count(*) from flow_step where outcome = 'Success'") == [(1,)]


async def test_p30_a_place_in_a_plan_has_one_row_and_a_second_is_refused(
    database: Database, clock: VirtualClock
) -> None:
    forked = plan(Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED), step(1, "a"), step(2, "b"), Delay(3, "rest", DAY))
    world = World()
    async with node(database, clock, world, forked) as host:
        outcome = await host.run("order.place", ORDER)
        await asyncio.gather(*(host.resume(outcome.instance_id) for _ in range(8)))
    assert sorted(world.effects) == ["a(o)", "b(o)"]
    journal = await PostgresJournal.open(database.dsn, schema=database.schema)
    row = StepRow(scope="", step_id=1, attempt=1, capability_id="a", outcome=RowOutcome.SUCCESS)
    answer = await journal.commit(Commit(outcome.instance_id, 10**6, rows=(row,)))
    await journal.close()
    assert isinstance(answer, Refused)
    assert answer.reason is Refusal.DUPLICATE_STEP


async def test_p31_p34_a_start_that_is_repeated_while_its_run_waits_to_retry_is_that_run(
    database: Database, clock: VirtualClock
) -> None:
    retried = plan(step(0, "pay", policy=PolicySet("p", retry=Retry(3, Backoff.fixed("PT1H")))))
    world = World(answers={"pay": raising(OutOfStock, times=2)})
    async with node(database, clock, world, retried) as one, node(database, clock, world, retried) as other:
        answers = await asyncio.gather(
            *(host.run("order.place", ORDER, idempotency_key="k") for host in (one, other) * 10)
        )
        assert {type(answer) for answer in answers} == {Suspended}
        await to_the_end(database, clock, other)
        ended = await one.run("order.place", ORDER, idempotency_key="k")
    assert isinstance(ended, Completed)
    assert {answer.instance_id for answer in answers} == {ended.instance_id}
    assert len(world.calls) == 3


@pytest.mark.parametrize("crash", [None, 0, 1, 2])
async def test_p32_what_a_step_emits_or_writes_is_seen_once_and_with_its_success_only(
    database: Database, clock: VirtualClock, crash: int | None
) -> None:
    database.change("create schema if not exists " + database.schema)
    database.change("create table effect (attempt int)")
    seen_before: list[int] = []

    async def writes(request: Order, ctx: StepContext) -> Note:
        async with ctx.transaction() as connection:
            await connection.execute(f"insert into {database.schema}.effect values ({ctx.attempt})")
            seen_before.append(database.rows("select count(*) from effect")[0][0])
            if ctx.attempt < 3:
                raise OutOfStock
        return Note(text="")

    writing = plan(
        step(0, "pay", policy=PolicySet("p", retry=Retry(5, Backoff.fixed("PT0.1S")))),
        Emit(1, "order.noted", NOTED, lambda ctx: Noted(name=ctx.input.name)),
        step(2, "ship"),
    )
    world = World(answers={"pay": writes})
    CrashingJournal.crash(after=set() if crash is None else {crash})
    async with node(database, clock, world, writing, journal=CrashingJournal) as host:
        await asyncio.gather(host.run("order.place", ORDER), return_exceptions=True)
        await to_the_end(database, clock, host)
    assert seen_before == [0, 0, 0]
    assert database.rows("select attempt from effect") == [(3,)]
    assert database.rows("select type, count(*) from outbox_event group by type") == [("order.noted", 1)]


class Card(Contract):
    number: Sensitive[str]


class Pin(Contract):
    digits: Sensitive[str]


async def test_p33_what_is_not_decoded_is_never_given_to_a_step_and_all_that_is_replayed_is_decoded(
    database: Database, clock: VirtualClock
) -> None:
    given: list[str] = []

    async def cards(request: Order, ctx: StepContext) -> Card:
        return Card(number="4111")

    async def pins(request: Order, ctx: StepContext) -> Pin:
        return Pin(digits="0000")

    async def charge(request: Card, ctx: StepContext) -> None:
        given.append(request.number)

    async def check(request: Pin, ctx: StepContext) -> None:
        given.append(request.digits)

    sealed = plan(
        Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED),
        step(1, "cards", gives=Card),
        step(2, "pins", gives=Pin),
        AwaitSignal(3, "approved", APPROVED, DAY),
        Parallel(4, (5, 6), 7, Merge.ALL_MUST_SUCCEED),
        step(5, "charge", takes=Card, gives=None),
        step(6, "check", takes=Pin, gives=None),
    )
    world = World(answers={"cards": cards, "pins": pins, "charge": charge, "check": check})
    right = KeyRing({"k": bytes(32)}, current="k")
    async with node(database, clock, world, sealed, key_ring=right) as host:
        outcome = await host.run("order.place", ORDER)
    wrong = KeyRing({"other": bytes(32)}, current="other")
    async with node(database, clock, world, sealed, key_ring=wrong) as without_the_key:
        await without_the_key.signal(outcome.instance_id, Approved(by="ada"))  # kept for a node that has the key
    assert given == []
    assert database.stuck() == []
    async with node(database, clock, world, sealed, key_ring=right) as another:
        await another.sweep_once()
        assert isinstance(await another.outcome(outcome.instance_id), Completed)
    assert sorted(given) == ["0000", "4111"]


async def test_p34_what_failed_says_so_though_no_bound_was_set(database: Database, clock: VirtualClock) -> None:
    world = World(answers={"pay": raising(OutOfStock)})
    once = plan(step(0, "pay"))
    async with node(database, clock, world, once) as host:
        first = await host.run("order.place", ORDER, idempotency_key="k")
        again = await host.run("order.place", ORDER, idempotency_key="k")
    assert isinstance(first, Failed)
    assert again == first
    assert len(world.calls) == 1
