"""The two endings of a poll on PostgreSQL, decision by decision, and what a poll is without its extras."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import Sources
from flowx_compiler.rules import flowx1050_binds_the_signal_ending
from flowx_compiler.rules.examples import example_files
from flowx_runtime import Backoff, Completed, Failed, PolicySet, Retry, StepContext, Suspended
from flowx_runtime.plan import AwaitSignal, Fail, Poll
from tests.acceptance.conftest import EXAMPLES, Database, VirtualClock
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    ORDER,
    PAID,
    CrashingJournal,
    Order,
    OutOfStock,
    Paid,
    Status,
    World,
    node,
    plan,
    raising,
    step,
)

HOUR = timedelta(hours=1)
HOURLY = Backoff.fixed("PT1H")


def is_done(ctx: Any) -> bool:
    return bool(ctx.get(Status).is_done)


def poll(index: int, target: int | None = None, signal: Any = PAID) -> tuple[Any, Any]:
    """A poll every hour for ten, and the step it repeats."""
    return (
        Poll(index, is_done, HOURLY, 10 * HOUR, target, signal),
        step(index + 1, "look", gives=Status, name=f"look{index}"),
    )


class Looks:
    """Is done from a look on."""

    def __init__(self, done_at: int = 10**9) -> None:
        self.looks = 0
        self.done_at = done_at

    async def __call__(self, request: Order, ctx: StepContext) -> Status:
        self.looks += 1
        return Status(is_done=self.looks >= self.done_at)


SIGNALLED = plan(*poll(0), step(2, "ship"), output=Status, returns=lambda ctx: ctx.get(Status))


async def test_a_delivery_leaves_exactly_one_row_at_the_polls_own_index(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 003, decision 1: one row, under the poll's own scope, attempt 1, with the delivered payload."""
    world = World(answers={"look": Looks()})
    async with node(database, clock, world, SIGNALLED) as host:
        outcome = await host.run("order.place", ORDER)
        await host.signal(outcome.instance_id, Paid(reference="r-1"))
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert database.rows(
        "select scope, attempt, capability_id, result::text from flow_step where step_id = 0 and instance_id = %s",
        outcome.instance_id,
    ) == [("", 1, "order.paid", '{"reference":"r-1"}')]


async def test_that_row_keeps_a_resumed_instance_from_asking_again(database: Database, clock: VirtualClock) -> None:
    """Seed 003, decision 1: the row is the witness that the predicate cannot be."""
    looks = Looks()
    world = World(answers={"look": looks})
    # The commits: the attempt and the park; the ending and the turn to the next step; the step and the end.
    CrashingJournal.crash(before={2})
    async with node(database, clock, world, SIGNALLED, journal=CrashingJournal) as host:
        outcome = await host.run("order.place", ORDER)
        with pytest.raises(Exception, match="before commit 2"):
            await host.signal(outcome.instance_id, Paid(reference="r-1"))
    assert database.steps(outcome.instance_id) == ["0|1|look|Success", "|0|order.paid|Success"]
    database.expire_leases()
    async with node(database, clock, world, SIGNALLED) as another:
        assert isinstance(await another.resume(outcome.instance_id), Completed)
    assert looks.looks == 1


async def test_a_poll_that_ends_on_its_predicate_leaves_no_row_of_its_own(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 003, decision 1, and seed 000, attempt rows: the poll node itself commits nothing."""
    world = World(answers={"look": Looks(done_at=2)})
    async with node(database, clock, world, SIGNALLED) as host:
        outcome = await host.run("order.place", ORDER)
        clock.advance(HOUR)
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert database.steps(outcome.instance_id) == ["0|1|look|Success", "1|1|look|Success", "|2|ship|Success"]


@pytest.mark.parametrize("by_signal", [True, False])
async def test_what_a_poll_node_commits_names_the_delivery_and_nothing_else(
    database: Database, clock: VirtualClock, by_signal: bool
) -> None:
    """Seed 003, decision 2: the only capability id at a poll's index is the identity of what ended it."""
    escalating = plan(*poll(0, 4), step(2, "escalate"), Fail(3, OutOfStock), step(4, "ship"))
    world = World(answers={"look": Looks()})
    async with node(database, clock, world, escalating) as host:
        outcome = await host.run("order.place", ORDER)
        if by_signal:
            await host.signal(outcome.instance_id, Paid(reference="r"))
        else:
            clock.advance(10 * HOUR)
            await host.sweep_once()
    ids = database.rows("select capability_id from flow_step where step_id = 0")
    assert ids == ([("order.paid",)] if by_signal else [])


async def test_the_predicate_comes_first_so_that_a_finished_poll_takes_no_later_waits_signal(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 003, decision 3: a finished poll is walked again on the way to the wait that the delivery is for."""
    then_wait = plan(*poll(0), AwaitSignal(2, "paid", PAID, DAY), step(3, "ship"))
    world = World(answers={"look": Looks(done_at=1)})
    async with node(database, clock, world, then_wait) as host:
        outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Suspended)
        await host.signal(outcome.instance_id, Paid(reference="r"))
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert database.steps(outcome.instance_id)[1] == "|2|order.paid|Success"


@pytest.mark.parametrize("passed", [HOUR / 2, HOUR, 10 * HOUR], ids=["before", "at the next attempt", "at the budget"])
async def test_the_signal_comes_before_the_schedule(database: Database, clock: VirtualClock, passed: timedelta) -> None:
    """Seed 003, decision 3: no attempt, no waiting out of the gap, no escalation; on at the satisfied target."""
    escalating = plan(*poll(0, 4), step(2, "escalate"), Fail(3, OutOfStock), step(4, "ship"))
    looks = Looks()
    world = World(answers={"look": looks})
    async with node(database, clock, world, escalating) as host:
        outcome = await host.run("order.place", ORDER)
        clock.advance(passed)
        await host.signal(outcome.instance_id, Paid(reference="r"))
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert (looks.looks, world.effects) == (1, ["look(o)", "ship(o)"])


async def test_the_flows_deadline_comes_before_predicate_and_signal(database: Database, clock: VirtualClock) -> None:
    """Seed 003, decision 3: an instance whose whole budget has gone fails rather than committing another row."""
    bounded = plan(*poll(0), step(2, "ship"), deadline=2 * HOUR)
    async with node(database, clock, World(answers={"look": Looks()}), bounded) as host:
        outcome = await host.run("order.place", ORDER)
        clock.advance(2 * HOUR)
        await host.signal(outcome.instance_id, Paid(reference="r"))
        failed = await host.outcome(outcome.instance_id)
    assert isinstance(failed, Failed)
    assert failed.error.code == "flow.deadline_exceeded"
    assert database.steps(outcome.instance_id) == ["0|1|look|Success"]


async def test_there_is_one_row_with_one_wake_and_the_ending_clears_it_in_its_own_write(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 003, decision 4: one row, one wake instant, one way to be woken; the wait ends once."""
    then_wait = plan(*poll(0), AwaitSignal(2, "approved", APPROVED, DAY), step(3, "ship"))
    world = World(answers={"look": Looks()})
    CrashingJournal.crash(after={1})
    async with node(database, clock, world, then_wait, journal=CrashingJournal) as host:
        outcome = await host.run("order.place", ORDER)
        assert database.rows("select wake_step_id, wake_scope, wake_signal_id, wait_count from flow_instance") == [
            (0, "0", "order.paid", 1)
        ]
        with pytest.raises(Exception, match="after commit 1"):
            await host.signal(outcome.instance_id, Paid(reference="r"))
    ((state, at, written),) = database.rows("select state, wake_step_id, xmin::text from flow_instance")
    assert (state, at) == ("Suspended", 2)
    assert database.rows("select xmin::text from flow_step where step_id = 0") == [(written,)]


def test_a_step_that_binds_the_signal_ending_is_found() -> None:
    """Seed 003, decision 5: only the delivery leaves the signal; what binds it throws on the ordinary path."""
    example = flowx1050_binds_the_signal_ending.INVALID[0]
    assert list(flowx1050_binds_the_signal_ending.check(link(Sources.of(example_files(example)))))


def test_the_manifest_publishes_both_endings_in_the_fields_a_wait_has() -> None:
    """Seed 003, decision 6: the same `signal` and `timeout` as an await's, and no field of its own."""
    manifests = [json.loads(path.read_text()) for path in sorted(EXAMPLES.glob("*/flowx.manifest.json"))]
    polls = list(_steps(manifests, "Poll"))
    awaits = list(_steps(manifests, "AwaitSignal"))
    assert [(each["signal"], each["timeout"]) for each in polls] == [("ocr.completed", "PT4H")]
    assert [(each["signal"], each["timeout"]) for each in awaits] == [("offer.countersigned", "P7D")]


def _steps(found: Any, kind: str) -> Any:
    for value in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        if isinstance(value, dict) and value.get("kind") == kind:
            yield value
        yield from _steps(value, kind)


async def test_after_a_delivery_the_last_answer_is_the_one_that_was_not_final(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 003, consequences: a step after the poll that binds the attempt's answer reads the last one there is."""
    async with node(database, clock, World(answers={"look": Looks()}), SIGNALLED) as host:
        outcome = await host.run("order.place", ORDER)
        await host.signal(outcome.instance_id, Paid(reference="r"))
        assert (await host.outcome(outcome.instance_id)).value == Status(is_done=False)


async def test_a_poll_without_a_signal_awaits_nobody(database: Database, clock: VirtualClock) -> None:
    """Seed 000: the answer is a 202 without `awaiting`; a poll waits for a clock, and there is nothing to address."""
    plain = plan(*poll(0, signal=None), step(2, "ship"))
    async with node(database, clock, World(answers={"look": Looks()}), plain) as host:
        outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Suspended)
        assert outcome.awaiting == ()
        assert (await host.outcome(outcome.instance_id)).awaiting == ()


async def test_a_second_park_has_the_same_step_and_another_scope(database: Database, clock: VirtualClock) -> None:
    """Seed 000: the wake carries the attempt it belongs to."""
    async with node(database, clock, World(answers={"look": Looks()}), SIGNALLED) as host:
        outcome = await host.run("order.place", ORDER)
        first = database.wake(outcome.instance_id)
        clock.advance(HOUR)
        await host.sweep_once()
        second = database.wake(outcome.instance_id)
    assert (first[1:], second[1:]) == ((0, "0"), (0, "1"))
    assert second[0] - first[0] == HOUR


async def test_a_budget_without_a_block_fails_the_flow_and_unwinds(database: Database, clock: VirtualClock) -> None:
    """Seed 000: there is nowhere for this timeout to go, so the flow ends with `flow.poll_not_satisfied`."""
    plain = plan(step(0, "reserve", undo="free"), *poll(1), step(3, "ship"))
    world = World(answers={"look": Looks()})
    async with node(database, clock, world, plain) as host:
        outcome = await host.run("order.place", ORDER)
        clock.advance(10 * HOUR)
        await host.sweep_once()
        failed = await host.outcome(outcome.instance_id)
    assert isinstance(failed, Failed)
    assert failed.error.code == "flow.poll_not_satisfied"
    assert world.effects[-1] == "free(o)"


@pytest.mark.parametrize("waits", ["poll", "await"])
async def test_a_timeout_block_that_does_not_fail_falls_through(
    database: Database, clock: VirtualClock, waits: str
) -> None:
    """Seed 000 §3: both ways out of a wait meet again at the step after the block; ending is said by `fail`."""
    if waits == "poll":
        falling = plan(*poll(0, 3), step(2, "escalate"), step(3, "ship"))
    else:
        falling = plan(AwaitSignal(0, "approved", APPROVED, 10 * HOUR, 2), step(1, "escalate"), step(2, "ship"))
    world = World(answers={"look": Looks()})
    async with node(database, clock, world, falling) as host:
        outcome = await host.run("order.place", ORDER)
        clock.advance(10 * HOUR)
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
    assert world.effects[-2:] == ["escalate(o)", "ship(o)"]


async def test_a_retry_of_the_polled_capability_is_no_attempt_of_the_poll(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 000: tolerating a passing fault is a retry policy, another declaration in another place."""
    retried = PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.1S")))
    tolerant = plan(poll(0)[0], step(1, "look", gives=Status, policy=retried), step(2, "ship"))
    fails_twice = raising(OutOfStock, times=2)
    looks = Looks(done_at=1)

    async def look(request: Order, ctx: StepContext) -> Status:
        await fails_twice(request, ctx)
        return await looks(request, ctx)

    async with node(database, clock, World(answers={"look": look}), tolerant) as host:
        outcome = await host.run("order.place", ORDER)
    assert database.steps(outcome.instance_id) == ["0|1|look|Failure"] * 2 + ["0|1|look|Success", "|2|ship|Success"]
