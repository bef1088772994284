"""What the scenarios' steps do: each tells the world, and some refuse."""

from __future__ import annotations

import asyncio
from typing import Any

from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.capabilities import capability
from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.messages import event, signal
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.plan import CapabilityUse, EventUse, SignalUse
from tests.crash.world import World


class Order(Contract):
    name: str


class Item(Contract):
    name: str


class Done(Contract):
    name: str


class Seen(Contract):
    times: int


@event("work.done", version="1.0.0")
class WorkDone(Contract):
    name: str


@event("work.failed", version="1.0.0")
class WorkFailed(Contract):
    code: str


@signal("work.approved")
class Approved(Contract):
    by: str


class Refused(FlowError, code="work.refused", category=Category.VALIDATION):
    """The outside does not want it."""


class Busy(FlowError, code="work.busy", category=Category.UNAVAILABLE):
    """The outside may want it later."""


class NotInTime(FlowError, code="work.not_in_time", category=Category.UNAVAILABLE):
    """Nobody answered."""


class _InWorld:
    def __init__(self, world: World) -> None:
        self.world = world


@capability("work.do", version="1.0.0", authorization=Internal(), side_effects=("work",))
class Do(_InWorld):
    async def execute(self, request: Item, ctx: StepContext) -> Done:
        await asyncio.sleep(0)
        self.world.touch(ctx, request.name)
        await asyncio.sleep(0)
        return Done(name=request.name)


@capability("work.undo", version="1.0.0", authorization=Internal(), idempotent=True)
class Undo(_InWorld):
    async def execute(self, request: Item, ctx: StepContext) -> None:
        self.world.touch(ctx, request.name)


@capability("work.undo_later", version="1.0.0", authorization=Internal(), idempotent=True)
class UndoLater(_InWorld):
    """Succeeds at its second attempt."""

    async def execute(self, request: Item, ctx: StepContext) -> None:
        self.world.touch(ctx, request.name)
        if ctx.attempt < 3:  # the first attempt at the step itself counts
            raise Busy


@capability("work.undo_never", version="1.0.0", authorization=Internal(), idempotent=True)
class UndoNever(_InWorld):
    async def execute(self, request: Item, ctx: StepContext) -> None:
        self.world.touch(ctx, request.name)
        raise Busy


@capability("work.refuse", version="1.0.0", authorization=Internal(), side_effects=("work",))
class Refuse(_InWorld):
    async def execute(self, request: Item, ctx: StepContext) -> Done:
        self.world.touch(ctx, request.name)
        raise Refused


@capability("work.try", version="1.0.0", authorization=Internal(), idempotent=True)
class Try(_InWorld):
    """Succeeds at its third attempt."""

    async def execute(self, request: Item, ctx: StepContext) -> Done:
        self.world.touch(ctx, request.name)
        if ctx.attempt < 3:
            raise Busy
        return Done(name=request.name)


@capability("work.look", version="1.0.0", authorization=Internal(), idempotent=True)
class Look(_InWorld):
    """Counts the attempts of its poll."""

    async def execute(self, request: Item, ctx: StepContext) -> Seen:
        self.world.touch(ctx, request.name)
        return Seen(times=int(ctx.scope.rpartition("/")[2]) + 1)


@capability("work.write", version="1.0.0", authorization=Internal(), side_effects=("work",))
class Write(_InWorld):
    """Its effect is in the database of the journal, in the transaction of its row."""

    async def execute(self, request: Item, ctx: StepContext) -> Done:
        async with ctx.transaction() as connection:
            key = [ctx.idempotency_key, request.name]
            await connection.execute("insert into written (key, name) values (%s, %s)", key)
        return Done(name=request.name)


@capability("work.charge", version="1.0.0", authorization=Internal(), side_effects=("work",))
class Charge(_InWorld):
    """Two effects, each recorded on its own before the step's row is written."""

    async def execute(self, request: Item, ctx: StepContext) -> Done:
        await ctx.once("reserve", lambda key: self._did(ctx, f"reserve {request.name} {key}"))
        await ctx.once("charge", lambda key: self._did(ctx, f"charge {request.name} {key}"))
        return Done(name=request.name)

    def _did(self, ctx: StepContext, what: str) -> str:
        self.world.touch(ctx, what)
        return what


CLASSES: tuple[type[_InWorld], ...] = (Do, Undo, UndoLater, UndoNever, Refuse, Try, Look, Write, Charge)


def _use(target: Any, request: type[Any], result: type[Any] | None) -> CapabilityUse:
    declared = target.__flowx_capability__
    return CapabilityUse(
        target, declared.id, declared.version, request, result, declared.idempotent, declared.side_effects
    )


DO = _use(Do, Item, Done)
UNDO = _use(Undo, Item, None)
UNDO_LATER = _use(UndoLater, Item, None)
UNDO_NEVER = _use(UndoNever, Item, None)
REFUSE = _use(Refuse, Item, Done)
TRY = _use(Try, Item, Done)
LOOK = _use(Look, Item, Seen)
WRITE = _use(Write, Item, Done)
CHARGE = _use(Charge, Item, Done)
APPROVED = SignalUse(Approved, "work.approved")
WORK_DONE = EventUse(WorkDone, "work.done", "1.0.0")
WORK_FAILED = EventUse(WorkFailed, "work.failed", "1.0.0")

SOON = PolicySet("soon", retry=Retry(3, Backoff.fixed("PT0.01S")))
LATER = PolicySet("later", retry=Retry(3, Backoff.exponential("PT1M")))
