"""What a step's policy asks for: attempts counted from rows, gaps that park, timeouts, bulkheads, breakers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import (
    BUDGET,
    INTERVAL,
    STATUS,
    Job,
    NotInTime,
    Refused,
    Status,
    Submit,
    archive,
    extract,
    plan,
    upload,
)
from engine_scene import TTL, Crash, Scene

from flowx_runtime import Completed, Failed, Profile, Suspended
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.policies import Bulkhead, CircuitBreaker, PolicySet, Retry
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.clock import LoopTimers
from flowx_runtime.engine.guards import CircuitOpen, Guards
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Delay, Parallel, Poll, Step

JOB = Job(job_id="j")
OFFER = Submit(document_id="o")


class Invalid(FlowError, code="document.invalid", category=Category.VALIDATION):
    """It will never do."""


def extracting(policy: PolicySet, **changes: Any):
    return plan(replace(extract(0), policy=policy), **({"input": Job} | changes))


def failing(times: int, error: type[Exception] = NotInTime):
    """Raises `times` times, then answers."""
    calls = []

    async def capability(request: Any, ctx: Any) -> Any:
        calls.append((ctx.attempt, ctx.idempotency_key))
        if len(calls) <= times:
            raise error
        from engine_plans import Fields

        return Fields(count=1)

    return capability, calls


async def test_an_attempt_that_fails_is_a_row_and_is_made_again_under_the_same_key():
    scene = Scene(extracting(PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.2S")))))
    capability, calls = failing(2)
    outcome = await scene.new_host(substitutes={"document.extract": capability}).run("document.process", JOB)
    assert isinstance(outcome, Completed)
    assert [attempt for attempt, _ in calls] == [1, 2, 3]
    assert len({key for _, key in calls}) == 1
    assert await scene.rows() == [*["|0|document.extract|Failure"] * 2, "|0|document.extract|Success"]


async def test_an_attempt_that_failed_is_durable_before_the_next_is_waited_for():
    scene = Scene(extracting(PolicySet("p", retry=Retry(2, Backoff.fixed("PT0.2S")))))
    at_the_pause = []

    async def pause(gap: timedelta) -> None:
        at_the_pause.append((gap, await scene.rows()))

    capability, _ = failing(1)
    await scene.new_host(substitutes={"document.extract": capability}, pause=pause).run("document.process", JOB)
    assert at_the_pause == [(timedelta(seconds=0.2), ["|0|document.extract|Failure"])]


async def test_a_retry_that_is_used_up_fails_the_flow():
    scene = Scene(extracting(PolicySet("p", retry=Retry(2, Backoff.fixed("PT0.2S")))))
    capability, calls = failing(9)
    outcome = await scene.new_host(substitutes={"document.extract": capability}).run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert len(calls) == 2


async def test_an_error_that_will_not_pass_is_not_tried_again():
    scene = Scene(extracting(PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.2S")))))
    capability, calls = failing(9, Invalid)
    await scene.new_host(substitutes={"document.extract": capability}).run("document.process", JOB)
    assert len(calls) == 1


async def test_a_long_gap_parks_and_the_attempts_are_counted_from_rows():
    scene = Scene(extracting(PolicySet("p", retry=Retry(3, Backoff.fixed("PT1M")))))
    capability, calls = failing(2)
    host = scene.new_host(substitutes={"document.extract": capability})
    started = scene.clock.now()
    outcome = await host.run("document.process", JOB)
    assert isinstance(outcome, Suspended)
    assert await scene.journal.live_leases(outcome.instance_id) == 0
    # A resume that comes too early attempts nothing.
    await host.resume(outcome.instance_id)
    assert len(calls) == 1
    for _ in range(2):
        await scene.host.sweep_once()
        scene.clock.move_to(await scene.journal.next_wake())
        await scene.new_host(substitutes={"document.extract": capability}).sweep_once()
    assert await scene.state() is State.COMPLETED
    assert scene.clock.now() == started + timedelta(minutes=2)


async def test_a_long_gap_is_kept_where_the_process_dies_between_the_attempt_and_the_park():
    waits = PolicySet("p", retry=Retry(2, Backoff.fixed("PT1H")))
    # The sibling's second step makes the failed attempt durable before the fork can park.
    forked = plan(
        Parallel(0, (1, 2), 4, Merge.ALL_MUST_SUCCEED),
        replace(extract(1), policy=waits, request=lambda ctx: JOB),
        upload(2),
        archive(3),
    )
    scene = Scene(forked)
    capability, calls = failing(1)
    scene.journal.crash_after.add(0)
    with pytest.raises(Crash):
        await scene.new_host(substitutes={"document.extract": capability}).run("document.process", OFFER)
    assert "|1|document.extract|Failure" in await scene.rows()
    await scene.recover(substitutes={"document.extract": capability})
    assert len(calls) == 1
    (wait,) = (await scene.history()).instance.waits
    assert (wait.step_id, wait.wake_at - scene.clock.now()) == (1, timedelta(hours=1) - TTL - timedelta(seconds=1))
    assert await scene.to_the_end() is State.COMPLETED


async def test_the_gap_after_a_second_attempt_is_not_taken_for_the_one_before_it():
    waits = PolicySet("p", retry=Retry(3, Backoff.fixed("PT1H")))
    forked = plan(
        Parallel(0, (1, 2), 5, Merge.ALL_MUST_SUCCEED),
        replace(extract(1), policy=waits, request=lambda ctx: JOB),
        Delay(2, "as long", timedelta(hours=1)),
        upload(3),
        archive(4),
    )
    scene = Scene(forked)
    capability, calls = failing(2)
    await scene.new_host(substitutes={"document.extract": capability}).run("document.process", OFFER)
    # Both are due; the sibling makes the second attempt durable, and the instance stays parked on what it had.
    scene.journal.crash_after.add(2)
    await scene.wake()
    assert (await scene.rows()).count("|1|document.extract|Failure") == 2
    assert (await scene.history()).instance.waits[0].wake_at == scene.clock.now()
    await scene.recover(substitutes={"document.extract": capability})
    assert len(calls) == 2
    assert await scene.to_the_end() is State.COMPLETED


async def test_an_attempt_of_a_poll_may_be_retried_without_losing_its_place():
    retried = PolicySet("p", retry=Retry(3, Backoff.fixed("PT2S")))
    scene = Scene(
        plan(
            upload(0),
            Poll(1, lambda ctx: ctx.get(Status).state == "completed", INTERVAL, BUDGET),
            Step(2, "ocr.status", STATUS, policy=retried),
            extract(3),
        )
    )
    scene.world.ready_after = 2

    def fails_once_at_the_second():
        if scene.world.asked == 1 and not any("tried" in effect for effect in scene.world.effects):
            scene.world.effects.append("tried")
            raise Refused

    scene.world.hooks["ocr.status"] = fails_once_at_the_second
    await scene.host.run("document.process", Submit(document_id="o"))
    assert await scene.to_the_end() is State.COMPLETED
    assert [row for row in await scene.rows() if "ocr.status" in row] == [
        "0|2|ocr.status|Success",
        "1|2|ocr.status|Failure",
        "1|2|ocr.status|Success",
    ]


async def test_a_capability_that_does_not_answer_in_time_is_unavailable():
    scene = Scene(extracting(PolicySet("p", timeout=timedelta(milliseconds=1)), profile=Profile.EPHEMERAL))

    async def never(request: Any, ctx: Any) -> Any:
        await asyncio.Event().wait()

    outcome = await scene.new_host(substitutes={"document.extract": never}).run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.category) == ("capability.timed_out", "unavailable")


async def test_a_timeout_of_the_capabilitys_own_is_its_own_defect():
    scene = Scene(extracting(PolicySet("p", timeout=timedelta(minutes=1)), profile=Profile.EPHEMERAL))

    async def times_out(request: Any, ctx: Any) -> Any:
        raise TimeoutError

    outcome = await scene.new_host(substitutes={"document.extract": times_out}).run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.unhandled"


async def test_a_bulkhead_bounds_the_calls_in_flight():
    scene = Scene(extracting(PolicySet("p", bulkhead=Bulkhead(2)), profile=Profile.EPHEMERAL))
    in_flight, most = 0, 0

    async def counted(request: Any, ctx: Any) -> Any:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        from engine_plans import Fields

        return Fields(count=1)

    host = scene.new_host(substitutes={"document.extract": counted})
    await asyncio.gather(*(host.run("document.process", JOB) for _ in range(7)))
    assert most == 2


async def test_a_breaker_opens_after_failures_in_a_row_and_probes_after_its_time():
    now = 0.0
    healthy = False
    calls = 0

    async def capability(request: Any, ctx: Any) -> str:
        nonlocal calls
        calls += 1
        if not healthy:
            raise NotInTime
        return "fine"

    use = replace(extract(0).capability, target=capability)

    class Stopwatch(LoopTimers):
        def monotonic(self) -> float:
            return now

    call = Guards(Capabilities([]), Stopwatch()).guarded(
        use, PolicySet("p", circuit_breaker=CircuitBreaker(2, "PT10S"))
    )

    async def answer() -> str:
        try:
            return await call(None, None)
        except FlowError as error:
            return error.code

    assert [await answer() for _ in range(3)] == [NotInTime.code, NotInTime.code, CircuitOpen.code]
    assert calls == 2
    now = 10.0
    assert [await answer(), await answer()] == [NotInTime.code, CircuitOpen.code]
    now, healthy = 20.0, True
    assert [await answer(), await answer()] == ["fine", "fine"]
