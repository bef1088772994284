"""Who may have a step done: judged as the walk comes to it, and for what lies behind a wait before anything begins."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import Job, plan
from engine_scene import Scene

from flowx_runtime import (
    Anonymous,
    Authenticated,
    Authorization,
    Completed,
    Contract,
    Failed,
    Internal,
    Permission,
    Principal,
    Profile,
    Public,
    StepContext,
    SubFlowMode,
    Suspended,
    capability,
)
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.policies import PolicySet, RateLimit, Retry
from flowx_runtime.host.errors import CallerNotAuthenticated, CallerNotPermitted
from flowx_runtime.journal.records import State
from flowx_runtime.plan import CapabilityUse, Delay, ForEach, Step, SubFlow


class Submit(Contract):
    document_id: str


ORDER = Submit(document_id="o")
ADA = Principal("ada", frozenset({"orders.write"}))
NOBODY = Anonymous()
DONE: list[str] = []


def use(id: str, stance: Authorization) -> CapabilityUse:
    async def answer(request: Submit, ctx: StepContext) -> Job:
        DONE.append(f"{id} for {ctx.principal}")
        return Job(job_id=id)

    declared = capability(id, version="1.0.0", authorization=stance, idempotent=True)(answer)
    return CapabilityUse(declared, id, "1.0.0", Submit, Job, idempotent=True)


OPEN = use("any.open", Public(approved_by="Grace"))
SIGNED_IN = use("any.signed_in", Authenticated())
WRITE = use("orders.write", Permission("orders.write"))
PAY = use("orders.pay", Permission("orders.pay"))
INNER = use("any.inner", Internal())


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def flow(*uses: CapabilityUse, **changes: Any) -> Any:
    return plan(*(Step(index, each.id, each) for index, each in enumerate(uses)), input=Submit, **changes)


async def start(scene: Scene, caller: Any) -> Any:
    return await scene.host.run(scene.plans[0].flow_id, ORDER, caller=caller)


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize(
    ("step", "caller", "refused"),
    [
        (OPEN, NOBODY, None),
        (SIGNED_IN, NOBODY, CallerNotAuthenticated),
        (SIGNED_IN, ADA, None),
        (WRITE, NOBODY, CallerNotAuthenticated),
        (WRITE, ADA, None),
        (PAY, ADA, CallerNotPermitted),
        (PAY, None, None),
        (INNER, NOBODY, CallerNotAuthenticated),
        (INNER, ADA, None),
        (INNER, None, None),
    ],
)
async def test_the_first_step_decides_before_there_is_an_instance(
    profile: Profile, step: CapabilityUse, caller: Any, refused: type[Exception] | None
) -> None:
    scene = Scene(flow(step, profile=profile))
    if refused is None:
        assert isinstance(await start(scene, caller), Completed)
        assert [f"{step.id} for {'ada' if caller is ADA else None}"] == DONE
        return
    with pytest.raises(refused) as said:
        await start(scene, caller)
    assert "ada" not in str(said.value)
    assert DONE == []
    assert not scene.journal._entries


@pytest.mark.parametrize("profile", list(Profile))
async def test_a_later_step_is_judged_when_the_walk_comes_to_it(profile: Profile) -> None:
    outcome = await start(Scene(flow(WRITE, PAY, profile=profile)), ADA)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "authorization.permission_denied"
    assert outcome.error.category == "forbidden"
    assert "'orders.pay'" in outcome.error.detail
    assert DONE == ["orders.write for ada"]


async def test_what_lies_behind_a_wait_is_judged_before_it_begins_and_then_goes_on_without_a_caller() -> None:
    waits = plan(
        Step(0, "a", WRITE), Delay(1, "rest", timedelta(days=1)), Step(2, "b", PAY), input=Submit, flow_id="order.pay"
    )
    scene = Scene(waits)
    with pytest.raises(CallerNotPermitted, match=r"orders\.pay"):
        await start(scene, ADA)
    assert not scene.journal._entries
    both = Principal("eve", frozenset({"orders.write", "orders.pay"}))
    outcome = await start(scene, both)
    assert isinstance(outcome, Suspended)
    await scene.wake()
    assert await scene.state(outcome.instance_id) is State.COMPLETED
    assert DONE == ["orders.write for eve", "orders.pay for None"]


@pytest.mark.parametrize("mode", list(SubFlowMode))
async def test_a_child_runs_under_its_parent_s_caller_and_a_detached_one_is_judged_at_the_start(
    mode: SubFlowMode,
) -> None:
    child = flow(PAY, flow_id="child")
    parent = plan(
        Step(0, "a", WRITE),
        SubFlow(1, "child", "child", "1.0.0", lambda ctx: ORDER, mode),
        input=Submit,
        flow_id="parent",
    )
    scene = Scene(parent, child)
    if mode is SubFlowMode.DETACHED:
        with pytest.raises(CallerNotPermitted):
            await start(scene, ADA)
        return
    outcome = await start(scene, ADA)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "authorization.permission_denied"
    assert DONE == ["orders.write for ada"]


LATER = PolicySet("later", retry=Retry(3, Backoff.exponential("PT0.6S")))
SOON = PolicySet("soon", retry=Retry(2, Backoff.exponential("PT0.6S")))
ONE_A_DAY = PolicySet("one a day", rate_limit=RateLimit(1, "P1D"))


def _behind(first: Step, profile: Profile) -> Any:
    return plan(first, Step(1, "b", PAY), input=Submit, profile=profile)


def _loop(*body: Any) -> Any:
    loop = ForEach(0, lambda ctx: [ctx.input], Submit, join=1 + len(body))
    return plan(loop, *body, input=Submit)


@pytest.mark.parametrize(
    ("waits", "is_judged"),
    [
        (_behind(Step(0, "a", WRITE, policy=LATER), Profile.DURABLE), True),
        (_behind(Step(0, "a", WRITE, policy=SOON), Profile.DURABLE), False),
        (_behind(Step(0, "a", WRITE, policy=LATER), Profile.EPHEMERAL), False),
        (_behind(Step(0, "a", WRITE, policy=ONE_A_DAY), Profile.DURABLE), True),
        (_behind(Step(0, "a", replace(WRITE, has_steps=True)), Profile.DURABLE), True),
        (_loop(Step(1, "a", PAY), Delay(2, "rest", timedelta(days=1))), True),
        (_loop(Step(1, "a", PAY), Step(2, "b", WRITE)), False),
    ],
)
async def test_whatever_may_park_makes_what_is_behind_it_judged_before_it_begins(waits: Any, is_judged: bool) -> None:
    scene = Scene(waits)
    if is_judged:
        with pytest.raises(CallerNotPermitted, match=r"orders\.pay"):
            await start(scene, ADA)
        assert not scene.journal._entries
    else:
        assert isinstance(await start(scene, ADA), Failed)


async def test_a_step_is_judged_before_it_is_held_back() -> None:
    scene = Scene(plan(Step(0, "a", WRITE), Step(1, "b", PAY, policy=ONE_A_DAY), input=Submit))
    eve = Principal("eve", frozenset({"orders.write", "orders.pay"}))
    assert isinstance(await start(scene, eve), Completed)
    outcome = await start(scene, ADA)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "authorization.permission_denied"


async def test_the_first_step_of_a_child_opens_a_flow_that_begins_with_it() -> None:
    for inner, refused in ((OPEN, False), (INNER, True)):
        parent = plan(SubFlow(0, "c", "child", "1.0.0", lambda ctx: ORDER), input=Submit, flow_id="parent")
        scene = Scene(parent, flow(inner, flow_id="child"))
        if refused:
            with pytest.raises(CallerNotAuthenticated):
                await start(scene, NOBODY)
        else:
            assert isinstance(await start(scene, NOBODY), Completed)
