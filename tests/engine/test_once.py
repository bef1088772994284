"""Steps inside a capability that run at most once, on both journals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest
from engine_plans import Submit, Ticket, plan
from engine_scene import VirtualClock, no_pause

from flowx_runtime import (
    Backoff,
    Category,
    Completed,
    Contract,
    Failed,
    FlowError,
    FlowHost,
    Internal,
    PolicySet,
    PostgresJournal,
    Profile,
    Retry,
    StepContext,
    Suspended,
    capability,
)
from flowx_runtime.authoring.contracts import Sensitive
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.memory import MemoryJournal
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import State
from flowx_runtime.plan import CapabilityUse, Fail, ForEach, Step

ORDER = Submit(document_id="o-1")
FOUR_TIMES = Backoff.exponential("PT2S").max_attempts(4)
TWICE = PolicySet("twice", retry=Retry(2, Backoff.fixed("PT0.1S")))
Body = Callable[[Submit, StepContext], Awaitable[Any]]


class Down(FlowError, code="pay.down", category=Category.UNAVAILABLE):
    """The processor is down."""


class Declined(FlowError, code="pay.declined", category=Category.CONFLICT):
    """The card was declined."""


class Receipt(Contract):
    id: str
    amount: Decimal = Decimal(0)


class Card(Contract):
    number: Sensitive[str]


class Colour(Enum):
    RED = "red"


@dataclass
class Outside:
    """Somebody else's system: every call that reached it, and how many it will not answer."""

    calls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    down_for: int = 0
    error: type[Exception] = Down

    def call(self, name: str, key: str = "") -> Receipt:
        self.calls.append(name)
        self.keys.append(key)
        if self.down_for:
            self.down_for -= 1
            raise self.error
        return Receipt(id=f"{name}-{len(self.calls)}")


class Scene:
    """Hosts on one journal and one clock. What a test leaves half done, the next host takes up."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.clock = VirtualClock()
        self.outside = Outside()

    def host(self, body: Body, *nodes: Any, result: type[Any] | None = Ticket, **changes: Any) -> FlowHost:
        declare = capability("payment.capture", version="1.0.0", authorization=Internal(), idempotent=True)
        self.use = CapabilityUse(
            declare(_typed(body, result)), "payment.capture", "1.0.0", Submit, result, idempotent=True, has_steps=True
        )
        placed = nodes or (Step(0, "payment.capture", self.use),)
        made = plan(*(node(self.use) if callable(node) else node for node in placed), **changes)
        return FlowHost(
            [made],
            journal=None if made.profile is Profile.EPHEMERAL else self.journal,
            clock=self.clock,
            sweep_interval=None,
            pause=no_pause,
        )

    async def records(self, instance_id: UUID, path: str = "document.process/payment.capture") -> list[OnceRecord]:
        return [record for record in await self.journal.once_records(instance_id, path) if record.attempts]

    async def state(self, instance_id: UUID) -> State:
        history = await self.journal.read(instance_id)
        assert history is not None
        return history.instance.state

    async def wake(self, host: FlowHost) -> None:
        at = await self.journal.next_wake()
        assert at is not None, "nothing is parked"
        self.clock.move_to(at)
        await host.sweep_once()


def _typed(body: Body, result: type[Any] | None) -> Any:
    """The body under another name: one function is declared once, and these are given to several hosts."""
    made = FunctionType(body.__code__, body.__globals__, "capture", body.__defaults__, body.__closure__)  # type: ignore[attr-defined]
    made.__annotations__ = {"request": Submit, "ctx": StepContext, "return": result}
    return made


@pytest.fixture(params=["memory", "postgres"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    if request.param == "memory":
        yield Scene(MemoryJournal())
        return
    journal = await PostgresJournal.open(
        request.getfixturevalue("postgres_dsn"), schema=request.getfixturevalue("schema"), pool_size=4
    )
    yield Scene(journal)
    await journal.close()


async def interrupted(host: FlowHost, instance_id: UUID, reached: asyncio.Event) -> None:
    """Start an instance and stop its run where the body says so, as a node that drains does."""
    running = asyncio.ensure_future(host.run("document.process", ORDER, instance_id=instance_id))
    await reached.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def stops(reached: asyncio.Event) -> Callable[[], Awaitable[None]]:
    """The first time it is called it never comes back."""

    async def stop() -> None:
        if not reached.is_set():
            reached.set()
            await asyncio.Event().wait()

    return stop


# What it promises


async def test_the_first_result_is_what_every_later_attempt_gets(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    stop = stops(reached)
    seen: list[Receipt] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        receipt = await ctx.once("charge", lambda: scene.outside.call("charge"))
        seen.append(receipt)
        await stop()
        return Ticket(ticket=receipt.id)

    host = scene.host(body)
    await interrupted(host, instance_id, reached)
    outcome = await scene.host(body).resume(instance_id)
    assert isinstance(outcome, Completed)
    assert scene.outside.calls == ["charge"]
    assert seen == [Receipt(id="charge-1")] * 2


async def test_a_result_of_nothing_is_a_result(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    stop = stops(reached)

    async def notify() -> None:
        scene.outside.calls.append("notify")

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        assert await ctx.once("notify", notify) is None
        await stop()
        return Ticket(ticket="t")

    await interrupted(scene.host(body), instance_id, reached)
    assert isinstance(await scene.host(body).resume(instance_id), Completed)
    assert scene.outside.calls == ["notify"]


async def test_a_failure_without_retry_ends_the_body_and_leaves_no_record(scene: Scene) -> None:
    scene.outside.down_for = 1

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        receipt = await ctx.once("charge", lambda: scene.outside.call("charge"))
        return Ticket(ticket=receipt.id)

    outcome = await scene.host(body).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "pay.down"
    assert await scene.records(outcome.instance_id) == []


async def test_the_retry_policy_of_the_flow_s_step_repeats_no_step_that_is_done(scene: Scene) -> None:
    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", lambda: scene.outside.call("charge"))
        if ctx.attempt < 3:
            raise Down
        return Ticket(ticket=str(ctx.attempt))

    policy = PolicySet("often", retry=Retry(3, Backoff.fixed("PT0.1S")))
    host = scene.host(body, lambda use: Step(0, "payment.capture", use, policy=policy))
    assert isinstance(await host.run("document.process", ORDER), Completed)
    assert scene.outside.calls == ["charge"]


async def test_what_cannot_be_read_back_has_run_all_the_same_and_does_not_run_again(scene: Scene) -> None:
    instance_id = uuid4()

    def charge() -> object:
        scene.outside.call("charge")
        return object()

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", charge)
        return Ticket(ticket="never")

    policy = PolicySet("often", retry=Retry(3, Backoff.fixed("PT0.1S")))
    host = scene.host(body, lambda use: Step(0, "payment.capture", use, policy=policy))
    outcome = await host.run("document.process", ORDER, instance_id=instance_id)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.once_result_not_kept"
    assert "returns=" in outcome.error.detail
    assert scene.outside.calls == ["charge"]


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        (True, None),
        (7, None),
        (1.5, None),
        ("text ü", None),
        ([1, {"a": None}], None),
        (UUID(int=7), None),
        (Decimal("1.10"), None),
        (date(2031, 5, 6), None),
        (datetime(2031, 5, 6, 12, tzinfo=UTC), None),
        (timedelta(seconds=90), None),
        (Path("a/b"), None),
        (Colour.RED, None),
        (Receipt(id="r", amount=Decimal("9.99")), None),
        ((1, "a"), tuple[int, str]),
        ([Receipt(id="r")], list[Receipt]),
        ({UUID(int=1): {3, 4}}, dict[UUID, set[int]]),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_result_comes_back_as_what_it_was(value: object, returns: object) -> None:
    scene = Scene(MemoryJournal())
    instance_id, reached = uuid4(), asyncio.Event()
    stop = stops(reached)
    seen: list[object] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        seen.append(await ctx.once("ask", lambda: value, returns=returns))
        await stop()
        return Ticket(ticket="t")

    await interrupted(scene.host(body), instance_id, reached)
    assert isinstance(await scene.host(body).resume(instance_id), Completed)
    assert seen == [value, value]
    assert type(seen[1]) is type(value)


async def test_what_is_sensitive_is_not_stored_in_the_clear(scene: Scene) -> None:
    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("ask", lambda: Card(number="4111-canary"))
        return Ticket(ticket="t")

    outcome = await scene.host(body).run("document.process", ORDER)
    (record,) = await scene.records(outcome.instance_id)
    assert "canary" not in str(record)


# Keys


async def test_a_key_is_the_same_for_every_attempt_and_another_for_every_step_and_run(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    scene.outside.down_for = 2
    keys: dict[str, list[str]] = {"charge": [], "refund": []}

    def ask(name: str) -> Callable[[str], Receipt]:
        def call(key: str) -> Receipt:
            keys[name].append(key)
            return scene.outside.call(name, key)

        return call

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", ask("charge"), retry=FOUR_TIMES)
        await ctx.once("refund", ask("refund"))
        return Ticket(ticket="t")

    host = scene.host(body)
    assert isinstance(await host.run("document.process", ORDER, instance_id=instance_id), Suspended)
    await scene.wake(host)
    await scene.wake(host)
    assert await scene.state(instance_id) is State.COMPLETED
    assert len(keys["charge"]) == 3
    assert len(set(keys["charge"])) == 1
    await host.run("document.process", ORDER)
    every = {*keys["charge"], *keys["refund"]}
    assert len(every) == 4
    assert all("charge" not in key and str(instance_id) not in key for key in every)
    assert not reached.is_set()


async def test_a_scope_makes_the_key_that_of_the_work_and_not_of_the_run(scene: Scene) -> None:
    async def body(request: Submit, ctx: StepContext) -> Ticket:
        for name in ("charge", "refund"):
            await ctx.once(name, lambda key, name=name: scene.outside.call(name, key), scope=request.document_id)
        for _ in range(2):
            await ctx.once("each", lambda key: scene.outside.call("each", key), scope=request.document_id)
        return Ticket(ticket="t")

    host = scene.host(body)
    for _ in range(2):
        await host.run("document.process", ORDER)
    await host.run("document.process", Submit(document_id="o-2"))
    first, again, other = (scene.outside.keys[start : start + 4] for start in (0, 4, 8))
    assert first == again, "the step still runs; it is the far side that declines"
    assert len({*first}) == 4, "two labels, and two passes, under one scope differ"
    assert not {*first} & {*other}


# Retry


async def test_a_retried_step_parks_and_the_caller_has_its_answer_at_once(scene: Scene) -> None:
    scene.outside.down_for = 3
    entered: list[int] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        entered.append(ctx.attempt)
        await ctx.once("reserve", lambda: scene.outside.calls.append("reserve"))
        receipt = await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        return Ticket(ticket=receipt.id)

    host = scene.host(body)
    outcome = await host.run("document.process", ORDER)
    instance_id = outcome.instance_id
    assert outcome == Suspended(instance_id, ())
    assert await scene.journal.live_leases(instance_id) == 0
    history = await scene.journal.read(instance_id)
    assert history is not None
    assert history.rows == ()
    assert [wait.wake_at for wait in history.instance.waits] == [scene.clock.now() + timedelta(seconds=2)]
    for gap in (2, 4, 8):
        before = scene.clock.now()
        await scene.wake(scene.host(body))
        assert scene.clock.now() - before == timedelta(seconds=gap)
    assert await scene.state(instance_id) is State.COMPLETED
    assert scene.outside.calls == ["reserve", *["charge"] * 4]
    assert entered == [1, 1, 1, 1], "one attempt of the flow's step, entered four times"
    reserve, charge = sorted(await scene.records(instance_id), key=lambda record: record.attempts)
    assert (reserve.attempts, charge.attempts) == (1, 4)


async def test_after_the_last_attempt_the_failure_itself_comes_out_and_try_sees_no_other(scene: Scene) -> None:
    scene.outside.down_for = 9
    scene.outside.error = ConnectionError
    caught: list[str] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        try:
            receipt = await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        except ConnectionError as error:
            caught.append(type(error).__name__)
            return Ticket(ticket="by hand")
        return Ticket(ticket=receipt.id)

    host = scene.host(body)
    outcome = await host.run("document.process", ORDER)
    for _ in range(3):
        assert caught == []
        await scene.wake(host)
    assert caught == ["ConnectionError"]
    assert scene.outside.calls == ["charge"] * 4
    assert await scene.state(outcome.instance_id) is State.COMPLETED


async def test_an_exhausted_budget_stays_exhausted_on_the_node_that_takes_over(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    stop = stops(reached)
    scene.outside.down_for = 9
    caught: list[Exception] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        try:
            await ctx.once("charge", lambda: scene.outside.call("charge"), retry=Backoff.fixed("PT5S").max_attempts(2))
        except Down as error:
            caught.append(error)
            await stop()
        return Ticket(ticket="by hand")

    host = scene.host(body)
    await host.run("document.process", ORDER, instance_id=instance_id)
    scene.clock.advance(timedelta(seconds=5))
    resumed = asyncio.ensure_future(host.resume(instance_id))
    await reached.wait()
    resumed.cancel()
    await asyncio.gather(resumed, return_exceptions=True)
    assert isinstance(await scene.host(body).resume(instance_id), Completed)
    assert scene.outside.calls == ["charge", "charge"]
    assert [(type(error), str(error)) for error in caught] == [(Down, "The processor is down.")] * 2


async def test_a_decision_is_not_asked_again(scene: Scene) -> None:
    scene.outside.down_for, scene.outside.error = 1, Declined

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        return Ticket(ticket="t")

    outcome = await scene.host(body).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "pay.declined"
    assert scene.outside.calls == ["charge"]


async def test_a_body_that_swallows_everything_is_left_all_the_same(scene: Scene) -> None:
    scene.outside.down_for = 1

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        try:
            await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        except BaseException:
            scene.outside.calls.append("swallowed")
        return Ticket(ticket="t")

    host = scene.host(body)
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Suspended)
    await scene.wake(host)
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert scene.outside.calls == ["charge", "swallowed", "charge"]


async def test_a_step_of_a_task_group_that_is_to_be_tried_again_parks_like_any_other(scene: Scene) -> None:
    scene.outside.down_for = 2

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        async with asyncio.TaskGroup() as group:
            charge = ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
            made = group.create_task(charge)  # type: ignore[arg-type]
        return Ticket(ticket=made.result().id)

    host = scene.host(body)
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Suspended)
    await host.sweep_once()
    assert scene.outside.calls == ["charge"], "nothing is due"
    await scene.wake(host)
    await scene.wake(host)
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert scene.outside.calls == ["charge"] * 3


async def test_a_short_gap_is_waited_for_in_place_and_the_body_is_entered_from_the_top(scene: Scene) -> None:
    scene.outside.down_for = 2
    entered: list[datetime] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        entered.append(ctx.utc_now)
        receipt = await ctx.once(
            "charge", lambda: scene.outside.call("charge"), retry=Backoff.fixed("PT0.2S").max_attempts(3)
        )
        return Ticket(ticket=receipt.id)

    async def pause(gap: timedelta) -> None:
        scene.clock.advance(gap)

    host = scene.host(body)
    host._engine._pause = pause
    assert isinstance(await host.run("document.process", ORDER), Completed)
    assert len(entered) == 3
    assert len({*entered}) == 1


async def test_it_wakes_no_later_than_the_flow_s_deadline(scene: Scene) -> None:
    scene.outside.down_for = 9

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", lambda: scene.outside.call("charge"), retry=Backoff.fixed("PT1H").max_attempts(5))
        return Ticket(ticket="t")

    host = scene.host(body, deadline=timedelta(minutes=30))
    outcome = await host.run("document.process", ORDER)
    await scene.wake(host)
    assert await scene.state(outcome.instance_id) is State.TIMED_OUT
    assert scene.outside.calls == ["charge"]


async def test_nothing_from_outside_is_read_anew_when_the_body_is_entered_again(scene: Scene) -> None:
    scene.outside.down_for = 2
    seen: list[tuple[datetime, UUID, UUID, float]] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        first = ctx.new_id()
        await ctx.once("reserve", lambda: "reserved")
        seen.append((ctx.utc_now, first, ctx.new_id(), ctx.random.random()))
        await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        return Ticket(ticket=str(first))

    outcome = await scene.host(body).run("document.process", ORDER)
    await scene.wake(scene.host(body))
    await scene.wake(scene.host(body))
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert len(seen) == 3
    assert len({*seen}) == 1
    assert seen[0][1] != seen[0][2]


async def test_a_retry_asks_everything_inside_the_step_again_and_nothing_outside(scene: Scene) -> None:
    instance_id = uuid4()
    scene.outside.down_for = 1

    async def ask(ctx: StepContext) -> Receipt:
        await ctx.once("reserve", lambda: scene.outside.calls.append("reserve"))
        return scene.outside.call("ask")

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("before", lambda: scene.outside.calls.append("before"))
        receipt = await ctx.once("charge", lambda: ask(ctx), retry=FOUR_TIMES)
        return Ticket(ticket=receipt.id)

    host = scene.host(body)
    await host.run("document.process", ORDER, instance_id=instance_id)
    await scene.wake(host)
    assert scene.outside.calls == ["before", "reserve", "ask", "reserve", "ask"]
    top = "document.process/payment.capture"
    assert sorted(record.path for record in await scene.records(instance_id)) == [
        f"{top}/before",
        f"{top}/charge",
        f"{top}/charge/ask/reserve",
        f"{top}/charge~1/ask/reserve",
    ]


# Names


async def reserve_line(ctx: StepContext, outside: Outside) -> None:
    await ctx.once("reserve", lambda: outside.calls.append("reserve"))


async def test_a_path_is_made_of_the_names_of_helpers_that_have_the_context(scene: Scene) -> None:
    async def outer(context: StepContext) -> None:
        async def without_it() -> None:
            await reserve_line(context, scene.outside)

        await without_it()

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await outer(ctx)
        for _ in range(3):
            await ctx.once("line", lambda: scene.outside.calls.append("line"))
        await asyncio.gather(asyncio.create_task(reserve_line(ctx, scene.outside)))
        return Ticket(ticket="t")

    outcome = await scene.host(body).run("document.process", ORDER)
    top = "document.process/payment.capture"
    assert [record.path for record in await scene.records(outcome.instance_id)] == [
        f"{top}/line",
        f"{top}/line@1",
        f"{top}/line@2",
        f"{top}/outer/reserve_line/reserve",
        f"{top}/reserve_line/reserve",
    ]


async def test_each_pass_of_a_loop_is_a_step_and_a_retry_repeats_none_that_is_done(scene: Scene) -> None:
    failing = [2]

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        for line in range(4):

            def reserve(key: str, line: int = line) -> None:
                scene.outside.calls.append(f"{line}")
                scene.outside.keys.append(key)
                if line == 2 and failing.pop():
                    raise Down

            await ctx.once("reserve", reserve, retry=FOUR_TIMES)
        return Ticket(ticket="t")

    failing[:] = [0, 1]
    host = scene.host(body)
    await host.run("document.process", ORDER)
    await scene.wake(host)
    assert scene.outside.calls == ["0", "1", "2", "2", "3"]
    assert len({*scene.outside.keys}) == 4


async def test_elements_of_a_flow_s_loop_are_executions_of_their_own(scene: Scene) -> None:
    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("ask", lambda key: scene.outside.call("ask", key))
        return Ticket(ticket="t")

    host = scene.host(
        body, ForEach(0, lambda bag: [ORDER, ORDER], Submit, 2), lambda use: Step(1, "payment.capture", use)
    )
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Completed), outcome
    assert len({*scene.outside.keys}) == 2
    paths = [
        record.path
        for number in range(2)
        for record in await scene.records(outcome.instance_id, f"document.process/payment.capture@{number}")
    ]
    assert paths == [f"document.process/payment.capture@{number}/ask" for number in range(2)]


@pytest.mark.parametrize("label", ["", "  ", "a/b", "a~1", "a@2", 7])
async def test_a_label_that_no_path_can_carry_is_refused(label: Any) -> None:
    scene = Scene(MemoryJournal())

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once(label, lambda: scene.outside.call("charge"))
        return Ticket(ticket="t")

    outcome = await scene.host(body).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert "label" in outcome.error.detail
    assert scene.outside.calls == []


async def test_a_step_needs_something_to_call_and_a_retry_an_end() -> None:
    scene = Scene(MemoryJournal())

    async def called(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", scene.outside.call("charge"))  # type: ignore[arg-type]
        return Ticket(ticket="t")

    async def endless(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", lambda: None, retry=Backoff.fixed("PT1S"))
        return Ticket(ticket="t")

    for body, said in ((called, "lambda"), (endless, "max_attempts")):
        outcome = await scene.host(body).run("document.process", ORDER)
        assert isinstance(outcome, Failed)
        assert said in outcome.error.detail


async def test_passes_that_say_what_they_are_are_found_again_in_any_order(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    order = ["tea", "cup", "a/b@1~ü"]
    charged: list[str] = []

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        async def pay(sku: str) -> None:
            charged.append(sku)
            if len(charged) == 2 and not reached.is_set():
                reached.set()
                await asyncio.Event().wait()

        async def one(sku: str) -> None:
            await ctx.once("charge", lambda: pay(sku), each=sku)

        await asyncio.gather(*[one(sku) for sku in order])
        return Ticket(ticket="t")

    await interrupted(scene.host(body), instance_id, reached)
    order.reverse()
    assert isinstance(await scene.host(body).resume(instance_id), Completed)
    done = [record.path.rpartition("/")[2] for record in await scene.records(instance_id)]
    assert sorted(done) == ["charge@a%2Fb%401~%C3%BC", "charge@cup", "charge@tea"]
    assert charged.count("tea") == 1
    assert set(charged) == {*order}


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ([None], "None as each="),
        ([""], "an empty each="),
        ([..., ..., 1], "two passes of step 'ship' are one (1)"),
        (["1", ..., ...], "two passes of step 'ship' are one (1)"),
        (["tea", "tea"], "two passes of step 'ship' are one (tea)"),
    ],
)
async def test_no_two_passes_are_ever_one_step(scene: Scene, named: list[Any], said: str) -> None:
    async def body(request: Submit, ctx: StepContext) -> Ticket:
        for number, each in enumerate(named):
            told = {} if each is ... else {"each": each}
            await ctx.once("ship", lambda number=number: scene.outside.call(f"ship {number}"), **told)  # type: ignore[misc]
        return Ticket(ticket="t")

    outcome = await scene.host(body).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert said in outcome.error.detail
    assert scene.outside.calls == [f"ship {number}" for number in range(len(named) - 1)]


async def test_a_step_that_has_run_is_recorded_whoever_cancels_its_body_meanwhile(scene: Scene) -> None:
    write, is_slow = scene.journal.record_once, asyncio.Event()

    async def slow(*arguments: Any, **named: Any) -> Any:
        is_slow.set()
        for _ in range(20):
            await asyncio.sleep(0)
        return await write(*arguments, **named)

    scene.journal.record_once = slow  # type: ignore[method-assign]

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        async def charge() -> Receipt:
            return await ctx.once("charge", lambda: scene.outside.call("charge"))

        charging = asyncio.ensure_future(charge())
        if ctx.attempt == 1:
            await is_slow.wait()
            charging.cancel()
            await asyncio.wait([charging])
            raise Down
        return Ticket(ticket=(await charging).id)

    policy = PolicySet("twice", retry=Retry(2, Backoff.fixed("PT0.1S")))
    host = scene.host(body, lambda use: Step(0, "payment.capture", use, policy=policy))
    assert isinstance(await host.run("document.process", ORDER), Completed)
    assert scene.outside.calls == ["charge"]


async def test_passes_with_one_name_and_steps_that_nobody_awaits_fail_the_capability(scene: Scene) -> None:
    async def twice(request: Submit, ctx: StepContext) -> Ticket:
        for _ in range(2):
            await ctx.once("charge", lambda: None, each="tea")
        return Ticket(ticket="t")

    async def left(request: Submit, ctx: StepContext) -> Ticket:
        scene.task = asyncio.ensure_future(ctx.once("charge", lambda: asyncio.sleep(0)))  # type: ignore[attr-defined]
        return Ticket(ticket="t")

    for body, code, said in ((twice, "capability.unhandled", "each="), (left, "flow.once_not_awaited", "await")):
        outcome = await scene.host(body).run("document.process", ORDER)
        assert isinstance(outcome, Failed)
        assert outcome.error.code == code
        assert said in outcome.error.detail


# Ports


class Mailer(Protocol):
    async def send(self, to: str) -> Receipt: ...


class Smtp(Mailer):
    sender = "shop"

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def send(self, to: str) -> Receipt:
        return self._outside.call(f"send {to}")

    def peek(self) -> int:
        return len(self._outside.calls)


async def test_every_async_method_of_a_durable_port_is_a_step_named_by_its_protocol(scene: Scene) -> None:
    instance_id, reached = uuid4(), asyncio.Event()
    stop = stops(reached)

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        mailer = ctx.durable(Smtp(scene.outside))
        receipt = await mailer.send("a")
        assert mailer.sender == "shop"
        await stop()
        await ctx.once("backup", lambda: mailer.send("b"))
        with pytest.raises(TypeError, match=r"ctx\.once\('Mailer.peek'"):
            mailer.peek()
        return Ticket(ticket=receipt.id)

    await interrupted(scene.host(body), instance_id, reached)
    assert isinstance(await scene.host(body).resume(instance_id), Completed)
    assert scene.outside.calls == ["send a", "send b"]
    top = "document.process/payment.capture"
    assert [record.path for record in await scene.records(instance_id)] == [f"{top}/Mailer.send", f"{top}/backup"]


# Elsewhere


async def test_an_undo_has_steps_of_its_own(scene: Scene) -> None:
    undone: list[str] = []

    @capability("payment.refund", version="1.0.0", authorization=Internal(), idempotent=True)
    async def refund(request: Submit, ctx: StepContext) -> None:
        undone.append(await ctx.once("refund", lambda: f"refund {len(undone)}"))
        if len(undone) < 3:
            raise Down

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("refund", lambda: scene.outside.call("charge"))
        return Ticket(ticket="t")

    undo = CapabilityUse(refund, "payment.refund", "1.0.0", Submit, None, idempotent=True, has_steps=True)
    host = scene.host(
        body,
        lambda use: Step(0, "payment.capture", use, compensation=undo),
        Fail(1, Declined),
        result=Ticket,
    )
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert await scene.state(outcome.instance_id) is State.FAILED
    assert undone == ["refund 0"] * 3


async def test_a_flow_that_keeps_no_journal_keeps_its_steps_for_as_long_as_it_runs() -> None:
    scene = Scene(MemoryJournal())
    scene.outside.down_for = 2

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("reserve", lambda: scene.outside.calls.append("reserve"))
        receipt = await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        return Ticket(ticket=receipt.id)

    async def pause(gap: timedelta) -> None:
        scene.clock.advance(gap)

    host = scene.host(body, profile=Profile.EPHEMERAL)
    host._engine._pause = pause
    assert isinstance(await host.run("document.process", ORDER), Completed)
    assert scene.outside.calls == ["reserve", "charge", "charge", "charge"]


async def test_records_stay_when_the_step_s_transaction_is_rolled_back(postgres_dsn: str, schema: str) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4)
    scene = Scene(journal)
    scene.outside.down_for = 1

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        async with ctx.transaction() as connection:
            await connection.execute(f"create table if not exists {schema}.orders (id text)")
            await connection.execute(f"insert into {schema}.orders values ('o-1')")
            await ctx.once("reserve", lambda: scene.outside.calls.append("reserve"))
            await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)
        return Ticket(ticket="t")

    async def orders() -> int:
        async with journal._connections.lend() as connection:
            found = await (await connection.execute(f"select to_regclass('{schema}.orders')")).fetchone()
            if found is None or found[0] is None:
                return 0
            counted = await (await connection.execute(f"select count(*) from {schema}.orders")).fetchone()
            return 0 if counted is None else int(counted[0])

    host = scene.host(body)
    outcome = await host.run("document.process", ORDER)
    assert await orders() == 0, "the failed attempt's work is gone"
    assert len(await scene.records(outcome.instance_id)) == 2
    await scene.wake(host)
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert await orders() == 1
    assert scene.outside.calls == ["reserve", "charge", "charge"]
    await journal.close()


async def test_the_first_owner_asks_the_store_for_nothing() -> None:
    asked: list[str] = []

    class Counting(MemoryJournal):
        async def once_records(self, instance_id: UUID, path: str) -> Any:
            asked.append(path)
            return await super().once_records(instance_id, path)

    scene = Scene(Counting())

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        await ctx.once("charge", lambda: scene.outside.call("charge"))
        await ctx.once("notify", lambda: None)
        return Ticket(ticket="t")

    await scene.host(body).run("document.process", ORDER)
    assert asked == []


# A journal that does not answer


@pytest.mark.parametrize("kind", ["try", "group", "inside"])
async def test_a_body_whose_record_could_not_be_written_has_not_answered_whatever_it_does(kind: str) -> None:
    class Away(MemoryJournal):
        is_away = False

        async def record_once(self, *given: Any, **named: Any) -> Any:
            if self.is_away:
                raise JournalUnavailable("the database is away")
            return await super().record_once(*given, **named)

    journal = Away()
    scene = Scene(journal)
    journal._clock = scene.clock.now

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        if kind == "inside":

            async def pay() -> str:
                with suppress(Exception):
                    await ctx.once("charge", lambda: scene.outside.call("charge", "k"))
                    return "charged"
                journal.is_away = False  # in time for the record of what goes on regardless
                return "declined"

            return Ticket(ticket=await ctx.once("pay", pay))
        charge = ctx.once("charge", lambda: scene.outside.call("charge", "k"), retry=FOUR_TIMES)
        if kind == "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(charge)  # type: ignore[arg-type]
            return Ticket(ticket="charged")
        try:
            await charge
        except Exception:
            with suppress(Exception):
                await ctx.once("apologise", lambda: scene.outside.call("apologise"))
            return Ticket(ticket="declined")
        return Ticket(ticket="charged")

    journal.is_away = True
    instance_id = uuid4()
    with pytest.raises(JournalUnavailable):
        await scene.host(body).run("document.process", ORDER, instance_id=instance_id)
    history = await journal.read(instance_id)
    assert history is not None
    assert history.rows == ()
    assert not history.instance.state.is_terminal
    assert scene.outside.calls == ["charge"], "nothing more happens that might not be kept either"
    journal.is_away = False
    scene.clock.move_to(scene.clock.now() + timedelta(minutes=5))
    await scene.host(body).sweep_once()
    again = await journal.read(instance_id)
    assert again is not None
    assert [row.result for row in again.rows] == ['{"ticket":"charged"}']
    assert again.instance.state is State.COMPLETED


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("in_transaction", [True, False])
async def test_a_step_whose_value_the_database_does_not_take_fails_and_is_not_repeated(
    postgres_dsn: str, schema: str, in_transaction: bool, last: bool
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4)
    async with journal._connections.lend() as connection:
        await connection.execute(
            f"alter table {schema}.flow_step add check (result is null or result::text not like '%unwelcome%')"
        )
    scene = Scene(journal)

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        scene.outside.calls.append("call")
        if in_transaction:
            async with ctx.transaction():
                pass
        return Ticket(ticket="unwelcome")

    again = Retry(3, Backoff.fixed("PT0.1S"))
    first = lambda use: Step(0, "payment.capture", use, policy=PolicySet("again", retry=again))  # noqa: E731
    nodes = (first,) if last else (first, Fail(1, Declined))
    outcome = await scene.host(body, *nodes).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    # Without a transaction its row is written with what comes behind it: a flow that fails there keeps that reason.
    own_reason = last or in_transaction
    assert outcome.error.code == ("journal.not_storable" if own_reason else "pay.declined")
    assert scene.outside.calls == ["call"]
    history = await journal.read(outcome.instance_id)
    assert history is not None
    assert history.rows[0].error is not None
    assert history.rows[0].error.code == "journal.not_storable"
    await journal.close()


async def test_a_step_whose_result_the_database_does_not_take_has_run_all_the_same(
    postgres_dsn: str, schema: str
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=4)
    async with journal._connections.lend() as connection:
        await connection.execute(f"alter table {schema}.flow_once add check (value::text not like '%charge-1%')")
    scene = Scene(journal)

    async def body(request: Submit, ctx: StepContext) -> Ticket:
        return Ticket(ticket=(await ctx.once("charge", lambda: scene.outside.call("charge"), retry=FOUR_TIMES)).id)

    host = scene.host(body, lambda use: Step(0, "payment.capture", use, policy=TWICE))
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.once_result_not_kept"
    assert scene.outside.calls == ["charge"]
    await journal.close()
