"""Instances of which a stored value fits its contract no more: they wait for it to fit again, or are taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from engine_plans import plan
from engine_scene import Scene
from pydantic import field_validator

from flowx_runtime import Completed, Contract, Failed, Internal, StepContext, Suspended, capability, signal
from flowx_runtime.engine.documents import ValueUnreadable
from flowx_runtime.engine.failures import UNDO_UNREADABLE
from flowx_runtime.host.outcome import Compensation
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, CapabilityUse, SignalUse, Step

REFUSED: set[str] = set()
CALLS: list[str] = []
CANARY = "canary"


class Order(Contract):
    number: str

    @field_validator("number")
    @classmethod
    def fits(cls, value: str) -> str:
        if "order" in REFUSED:
            raise RuntimeError(f"{value} fits no more")
        return value


class Shipped(Contract):
    parcel: str

    @field_validator("parcel")
    @classmethod
    def fits(cls, value: str) -> str:
        if "shipped" in REFUSED:
            raise ValueError(f"{value} fits no more")
        return value


class Booked(Contract):
    seat: str


@signal("unreadable.go")
class Go(Contract):
    by: str


def use(id: str, request: type[Any], result: type[Any] | None, answer: Any = None) -> CapabilityUse:
    async def body(request: Any, ctx: StepContext) -> Any:
        CALLS.append(id)
        return answer

    body.__annotations__ |= {"request": request, "return": result}
    declared = capability(id, version="1.0.0", authorization=Internal(), idempotent=True)(body)
    return CapabilityUse(declared, id, "1.0.0", request, result, idempotent=True)


BOOK = use("seat.book", Order, Booked, Booked(seat="1"))
SHIP = use("parcel.ship", Order, Shipped, Shipped(parcel=CANARY))
THANK = use("thanks.send", Shipped, None)
UNBOOK = use("seat.free", Booked, None)
RECALL = use("parcel.recall", Shipped, None)


@pytest.fixture(autouse=True)
def _fits() -> None:
    REFUSED.clear()
    CALLS.clear()


async def parked(**changes: Any) -> tuple[Scene, Any]:
    nodes = (
        Step(0, "book", BOOK, compensation=UNBOOK),
        Step(1, "ship", SHIP, compensation=RECALL),
        AwaitSignal(2, "go", SignalUse(Go, "unreadable.go"), timeout=timedelta(days=9)),
        Step(3, "thank", THANK),
    )
    scene = Scene(plan(*nodes, input=Order, **changes))
    outcome = await scene.host.run(scene.plans[0].flow_id, Order(number=CANARY))
    assert isinstance(outcome, Suspended)
    return scene, outcome.instance_id


@pytest.mark.parametrize("what", ["order", "shipped"])
async def test_a_signal_is_kept_and_the_instance_goes_on_when_its_values_fit_again(what: str) -> None:
    scene, instance_id = await parked()
    REFUSED.add(what)
    await scene.host.signal(instance_id, Go(by="Ada"))
    (setback,) = await scene.journal.setbacks([instance_id])
    assert setback.code == "instance.unreadable"
    assert CANARY not in setback.detail
    with pytest.raises(ValueUnreadable) as refused:
        await scene.host.resume(instance_id)
    assert CANARY not in str(refused.value)
    assert CALLS == ["seat.book", "parcel.ship"]
    REFUSED.clear()
    assert isinstance(await scene.host.resume(instance_id), Completed)
    assert CALLS == ["seat.book", "parcel.ship", "thanks.send"]


async def test_one_whose_input_fits_no_more_is_cancelled_and_undone() -> None:
    scene, instance_id = await parked()
    REFUSED.add("order")
    outcome = await scene.host.cancel(instance_id, "enough")
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.compensation) == ("flow.cancelled", Compensation.COMPLETED)
    assert CALLS[2:] == ["parcel.recall", "seat.free"]
    assert await scene.state(instance_id) is State.CANCELLED


async def test_one_whose_result_fits_no_more_is_cancelled_and_what_can_be_undone_is() -> None:
    scene, instance_id = await parked()
    REFUSED.add("shipped")
    outcome = await scene.host.cancel(instance_id)
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.compensation) == ("flow.cancelled", Compensation.FAILED)
    assert CALLS[2:] == ["seat.free"]
    codes = {row.error.code for row in (await scene.history()).rows if row.error is not None}
    assert codes == {UNDO_UNREADABLE}


async def test_one_whose_time_is_up_ends_all_the_same() -> None:
    scene, instance_id = await parked(deadline=timedelta(hours=1))
    REFUSED.add("order")
    await scene.wake()
    assert await scene.state(instance_id) is State.TIMED_OUT
    assert CALLS[2:] == ["parcel.recall", "seat.free"]
