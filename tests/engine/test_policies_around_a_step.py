"""Fallback, hedge, rate limit and cache: that each acts, where it stands in the nesting, what a crash leaves of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import CANCEL, UPLOAD, Fields, Job, NotInTime, Refused, extract, plan
from engine_scene import Crash, Scene

from flowx_runtime import Completed, Failed, Internal, PostgresJournal, Profile, Suspended, capability
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.policies import (
    Bulkhead,
    Cache,
    CircuitBreaker,
    Fallback,
    Hedge,
    PolicySet,
    RateLimit,
    Retry,
)
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.guards import CallTimedOut, CircuitOpen, Guards
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.journal.records import RowOutcome, State
from flowx_runtime.plan import CapabilityUse, Fail, InvalidPlan, Step

JOB = Job(job_id="j")
NONE = Fields(count=0)
TWICE = Retry(2, Backoff.fixed("PT0.2S"))


@capability("document.guess", version="1.0.0", authorization=Internal(), idempotent=True)
async def guess(request: Job, ctx: StepContext) -> Fields:
    if request.job_id == "unknown":
        raise Refused
    return Fields(count=7)


def extracting(policy: PolicySet, *more: Any, **changes: Any) -> Any:
    return plan(replace(extract(0), policy=policy), *more, **({"input": Job} | changes))


class Provider:
    """Answers as it is told: an exception is raised, a number is counted fields, an event is waited for."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[StepContext] = []

    async def __call__(self, request: Any, ctx: StepContext) -> Fields:
        self.calls.append(ctx)
        answer = self.answers.pop(0) if self.answers else 1
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = 99
        if isinstance(answer, type):
            raise answer
        return Fields(count=answer)


async def outcomes(scene: Scene) -> list[tuple[str, str]]:
    return [(row.capability_id, row.outcome.value) for row in (await scene.history()).rows]


# Fallback


async def test_a_fallback_stands_in_once_retry_has_given_up() -> None:
    scene = Scene(extracting(PolicySet("p", retry=TWICE, fallback=Fallback(value=NONE)), returns=None))
    provider = Provider(NotInTime, NotInTime)
    outcome = await scene.new_host(substitutes={"document.extract": provider}).run("document.process", JOB)
    assert isinstance(outcome, Completed)
    assert len(provider.calls) == 2
    rows = (await scene.history()).rows
    assert [row.outcome for row in rows] == [RowOutcome.FAILURE, RowOutcome.FAILURE, RowOutcome.DEGRADED]
    assert rows[-1].error is not None
    assert rows[-1].error.code == NotInTime.code
    assert rows[-1].result == '{"count":0}'


async def test_a_capability_can_stand_in_and_its_failure_is_not_the_one_that_is_told() -> None:
    policy = PolicySet("p", fallback=Fallback(capability=guess))
    for job, state in (("known", State.COMPLETED), ("unknown", State.FAILED)):
        scene = Scene(extracting(policy))
        host = scene.new_host(substitutes={"document.extract": Provider(NotInTime)})
        outcome = await host.run("document.process", Job(job_id=job))
        assert await scene.state() is state
        if isinstance(outcome, Failed):
            assert outcome.error.code == NotInTime.code
            assert [code for _, code in await outcomes(scene)] == ["Failure"]
        else:
            assert (await scene.history()).rows[-1].result == '{"count":7}'


async def test_a_fallback_of_another_type_fails_as_the_capability_did() -> None:
    scene = Scene(extracting(PolicySet("p", fallback=Fallback(value=JOB))))
    host = scene.new_host(substitutes={"document.extract": Provider(NotInTime)})
    outcome = await host.run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == NotInTime.code


async def test_a_degraded_step_is_never_undone() -> None:
    use = CapabilityUse(guess, "document.guess", "1.0.0", Job, Fields, idempotent=True)
    policy = PolicySet("p", fallback=Fallback(value=NONE))
    scene = Scene(plan(Step(0, "guess", use, policy=policy, compensation=CANCEL), Fail(1, Refused), input=Job))
    outcome = await scene.new_host(substitutes={"document.guess": Provider(NotInTime)}).run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert ("document.guess", "Degraded") in await outcomes(scene)
    assert not any(outcome == "Compensated" for _, outcome in await outcomes(scene))


@pytest.mark.parametrize("crash", ["before", "after"])
async def test_a_crash_around_the_degraded_row_degrades_all_the_same_and_grants_no_fresh_attempts(crash: str) -> None:
    scene = Scene(extracting(PolicySet("p", retry=Retry(2, Backoff.fixed("PT5S")), fallback=Fallback(value=NONE))))
    provider = Provider(*[NotInTime] * 9)
    host = scene.new_host(substitutes={"document.extract": provider})
    assert isinstance(await host.run("document.process", JOB), Suspended)
    scene.clock.advance(timedelta(seconds=5))
    last = len(scene.journal.commits)
    (scene.journal.crash_before if crash == "before" else scene.journal.crash_after).add(last)
    with pytest.raises(Crash):
        await host.resume(scene.only())
    attempts = len(provider.calls)
    await scene.recover(substitutes={"document.extract": provider})
    assert await scene.state() is State.COMPLETED
    assert len(provider.calls) == attempts + (1 if crash == "before" else 0)
    assert (await scene.history()).rows[-1].outcome is RowOutcome.DEGRADED


async def test_a_failing_map_is_no_failure_of_the_call_and_has_no_fallback() -> None:
    made = plan(
        replace(extract(0), policy=PolicySet("p", fallback=Fallback(value=NONE)), request=lambda ctx: 1 / 0),
        input=Job,
    )
    outcome = await Scene(made).host.run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.map_failed"


# Rate limit


async def test_a_step_of_a_durable_flow_waits_for_its_turn_as_one_row() -> None:
    limit = PolicySet("p", rate_limit=RateLimit(2, per="PT1M"))
    scene = Scene(extracting(limit))
    moment = [0.0]
    host = scene.new_host(timers=_Timers(moment), substitutes={"document.extract": Provider()})
    ended = [await host.run("document.process", JOB) for _ in range(3)]
    assert [type(outcome).__name__ for outcome in ended] == ["Completed", "Completed", "Suspended"]
    waiting = (await scene.history(ended[2].instance_id)).instance.waits
    assert [wait.wake_at - scene.clock.now() for wait in waiting] == [timedelta(seconds=30)]
    assert await scene.journal.live_leases(ended[2].instance_id) == 0
    scene.clock.advance(timedelta(seconds=30))
    moment[0] += 30
    assert isinstance(await host.resume(ended[2].instance_id), Completed)


async def test_a_flow_in_memory_is_refused_when_its_turn_is_far_off() -> None:
    scene = Scene(extracting(PolicySet("p", rate_limit=RateLimit(1, per="PT1M")), profile=Profile.EPHEMERAL))
    host = scene.new_host(journal=None, substitutes={"document.extract": Provider()})
    assert isinstance(await host.run("document.process", JOB), Completed)
    outcome = await host.run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.rate_limited"
    assert "60 s" in outcome.error.detail


async def test_a_refusal_has_no_fallback_and_an_attempt_again_takes_no_second_permit() -> None:
    policy = PolicySet("p", rate_limit=RateLimit(1, per="PT1M"), retry=TWICE, fallback=Fallback(value=NONE))
    scene = Scene(extracting(policy, profile=Profile.EPHEMERAL))
    provider = Provider(NotInTime, 3)
    host = scene.new_host(journal=None, substitutes={"document.extract": provider})
    assert isinstance(await host.run("document.process", JOB), Completed)
    assert len(provider.calls) == 2
    outcome = await host.run("document.process", JOB)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.rate_limited"


# Around the call


class _Timers:
    """The loop's limits under a clock of the test's own."""

    def __init__(self, moment: list[float]) -> None:
        self._moment = moment

    def monotonic(self) -> float:
        return self._moment[0]

    def limit(self, duration: timedelta) -> Any:
        return asyncio.timeout(duration.total_seconds())


def context(**changes: Any) -> StepRun:
    from datetime import UTC, datetime
    from uuid import uuid4

    given: dict[str, Any] = {"principal": None, "deadline": None} | changes
    now = datetime(2031, 5, 6, tzinfo=UTC)
    return StepRun(now, uuid4(), "f", "document.extract", "n", 1, "", "", given["deadline"], given["principal"])


def guarded(policy: PolicySet, provider: Provider, moment: list[float] | None = None) -> Any:
    guards = Guards(Capabilities([], {"document.extract": provider}), _Timers(moment or [0.0]))
    return lambda: guards.guarded(extract(0).capability, policy)


async def test_the_first_answer_of_a_hedge_wins_and_the_other_call_is_cancelled() -> None:
    never = asyncio.Event()
    provider = Provider(never, 2)
    call = guarded(PolicySet("p", hedge=Hedge(after="PT0.01S")), provider)()
    assert await call(JOB, context()) == Fields(count=2)
    assert len(provider.calls) == 2
    assert provider.calls[0] is not provider.calls[1]
    assert provider.calls[0].idempotency_key == provider.calls[1].idempotency_key
    assert len(asyncio.all_tasks()) == 1


async def test_a_hedge_makes_no_second_call_when_the_first_answers_and_fails_when_all_have() -> None:
    provider = Provider(5)
    assert (await guarded(PolicySet("p", hedge=Hedge(after="PT5S")), provider)()(JOB, context())).count == 5
    assert len(provider.calls) == 1
    both = Provider(Refused, NotInTime)
    with pytest.raises(Refused):
        await guarded(PolicySet("p", hedge=Hedge(after="PT5S")), both)()(JOB, context())
    late = asyncio.Event()
    mixed = Provider(late, Refused)
    asyncio.get_running_loop().call_later(0.05, late.set)
    answer = await guarded(PolicySet("p", hedge=Hedge(after="PT0.01S")), mixed)()(JOB, context())
    assert answer.count == 99, "one that failed does not end the one that is still out"


async def test_what_the_winner_of_a_hedge_read_is_what_is_recorded() -> None:
    never = asyncio.Event()
    minted = []

    async def provider(request: Any, ctx: StepContext) -> Fields:
        minted.append(ctx.new_id())
        if len(minted) == 1:
            await never.wait()
        return Fields(count=len(minted))

    own = context()
    guards = Guards(Capabilities([], {"document.extract": provider}))
    await guards.guarded(extract(0).capability, PolicySet("p", hedge=Hedge(after="PT0.01S")))(JOB, own)
    assert own.captured().ids == (minted[1],)


async def test_an_equal_request_is_answered_from_the_cache_until_its_time_is_over() -> None:
    moment, provider = [0.0], Provider(1, 2, 3, 4)
    call = guarded(PolicySet("p", cache=Cache("PT1M", entries=2)), provider, moment)
    assert [(await call()(JOB, context())).count for _ in range(2)] == [1, 1]
    assert (await call()(Job(job_id="k"), context())).count == 2
    assert (await call()(JOB, context(principal="ada"))).count == 3, "what one may see is not for another"
    moment[0] = 61.0
    assert (await call()(Job(job_id="k"), context())).count == 4


async def test_a_failure_is_not_remembered() -> None:
    provider = Provider(Refused, 2)
    call = guarded(PolicySet("p", cache=Cache("PT1M")), provider)
    with pytest.raises(Refused):
        await call()(JOB, context())
    assert (await call()(JOB, context())).count == 2


async def test_a_hit_needs_no_time_no_place_and_still_counts_for_the_breaker() -> None:
    """Cache inside timeout inside bulkhead inside breaker: nothing is called, and so nothing can time out."""
    provider = Provider(1, NotInTime, NotInTime)
    breaker = CircuitBreaker(failures=2, reset_after="PT1M")
    policy = PolicySet("p", cache=Cache("PT1M"), timeout="PT0.01S", circuit_breaker=breaker, bulkhead=Bulkhead(1))
    call = guarded(policy, provider)
    assert (await call()(JOB, context())).count == 1
    for number in range(2):
        with pytest.raises(NotInTime):
            await call()(Job(job_id=f"other-{number}"), context())
    with pytest.raises(CircuitOpen):
        await call()(JOB, context())


async def test_each_call_of_a_hedge_goes_through_the_breaker_and_has_its_own_timeout() -> None:
    never = asyncio.Event()
    provider = Provider(never, never)
    breaker = CircuitBreaker(failures=2, reset_after="PT1M")
    policy = PolicySet("p", hedge=Hedge(after="PT0.02S"), timeout="PT0.05S", circuit_breaker=breaker)
    call = guarded(policy, provider)
    with pytest.raises(CallTimedOut):
        await call()(JOB, context())
    assert len(provider.calls) == 2
    with pytest.raises(CircuitOpen):
        await call()(JOB, context())


async def test_a_call_has_no_longer_than_the_flow_s_deadline_leaves() -> None:
    never, own = asyncio.Event(), context()
    own.deadline = own.utc_now + timedelta(seconds=0.02)
    with pytest.raises(CallTimedOut):
        await guarded(PolicySet("p", timeout="PT1H"), Provider(never))()(JOB, own)


# Floors


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (PolicySet("p", hedge=Hedge("PT1S")), "hedged"),
        (PolicySet("p", cache=Cache("PT1S")), "cached"),
        (PolicySet("p", fallback=Fallback(value=JOB)), "fallback"),
    ],
    ids=["hedge", "cache", "fallback"],
)
def test_a_plan_refuses_what_the_compiler_refuses(policy: PolicySet, said: str) -> None:
    changing = replace(UPLOAD, side_effects=("ocr",), idempotent=False)
    with pytest.raises(InvalidPlan, match=said):
        plan(Step(0, "ocr.upload", changing, policy=policy))


@pytest.mark.parametrize(
    "make",
    [
        Fallback,
        lambda: Fallback(value=NONE, capability=guess),
        lambda: Hedge("PT1S", calls=1),
        lambda: RateLimit(0, per="PT1S"),
        lambda: Cache("PT1S", entries=0),
    ],
)
def test_a_policy_that_says_nothing_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"fallback|hedge|rate limit|cache"):
        make()


async def test_a_degraded_row_is_kept_by_postgresql(postgres_dsn: str, schema: str) -> None:
    scene = Scene(extracting(PolicySet("p", fallback=Fallback(value=NONE))))
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=2)
    host = scene.new_host(journal=journal, substitutes={"document.extract": Provider(NotInTime)})
    outcome = await host.run("document.process", JOB)
    assert isinstance(outcome, Completed)
    history = await journal.read(outcome.instance_id)
    assert history is not None
    assert [row.outcome for row in history.rows] == [RowOutcome.FAILURE, RowOutcome.DEGRADED]
    await journal.close()
