"""A small project whose flow decides by everything that code can read: constants, helpers, members, enumerations."""

from __future__ import annotations

from collections.abc import Mapping

CONSTS = '''\
from datetime import timedelta
from typing import Final

LIMIT: Final = 100
OTHER: Final = 7
RATES: Final = ("DE", "FR")
ALLOWED: Final = frozenset({"a", "b"})
ORDERED: Final = ("x", "y")
DISCOUNT: Final = LIMIT // 2
WINDOW: Final = timedelta(days=2)


class Lim:
    DEAR = 500
    CHEAP = 5


def is_big(n: int) -> bool:
    """Says whether it is."""
    edge = 1000
    return n > edge


def wrap(f):
    return f


def clamp(v: int) -> int:
    return v
'''
MODEL = """\
from enum import IntEnum, StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator, ConfigDict, Field, computed_field, field_serializer, field_validator, model_validator
)

from app.consts import clamp
from flowx_runtime import Category, Contract, FlowError, Sensitive, event, signal


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Item(Contract):
    sku: str
    n: int = 1


class Named(Contract):
    number: str

    @property
    def short(self) -> str:
        return self.number[:3]


class Order(Named):
    cents: Annotated[int, AfterValidator(clamp)]
    color: Color = Color.RED
    level: Level = Level.LOW
    items: tuple[Item, ...] = ()
    country: str = "DE"
    extra: int = 0

    @property
    def is_dear(self) -> bool:
        return self.cents > 700

    def total(self) -> int:
        return self.cents + self.extra

    def unread(self) -> int:
        return 1

    @property
    def live(self) -> tuple[Item, ...]:
        return self.items


class Req(Contract):
    number: str
    mode: str = "normal"
    cents: int = 0


class Paid(Contract):
    ref: str
    ok: bool = True


class Done(Contract):
    ref: str
    tag: str = "t"


class Offer(Contract):
    cents: int


class Apart(Contract):
    mode: str = "x"


@signal("app.go")
class Go(Contract):
    by: str


class Bad(FlowError, code="app.bad", category=Category.CONFLICT):
    message = "It is bad."


@event("app.done", version="1.0.0")
class Fin(Contract):
    ref: str
    tag: str = "t"
"""
CAPS = """\
from typing import Final

from app.model import Item, Offer, Order, Paid, Req
from flowx_runtime import Backoff, Fallback, Internal, PolicySet, Retry, StepContext, capability

POL: Final = PolicySet(
    "pol",
    timeout="PT5S",
    retry=Retry(attempts=3, backoff=Backoff.exponential_jitter("PT0.2S", "PT5S")),
    fallback=Fallback(value=Offer(cents=5)),
)


@capability("app.offer", version="1.0.0", authorization=Internal(), idempotent=True)
async def offer(request: Order, ctx: StepContext) -> Offer:
    return Offer(cents=request.cents)


@capability("app.pay", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("bank",))
async def pay(request: Req, ctx: StepContext) -> Paid:
    return Paid(ref=request.mode)


@capability("app.unpay", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("bank",))
async def unpay(request: Paid, ctx: StepContext) -> None: ...


@capability("app.ship", version="1.0.0", authorization=Internal(), idempotent=True)
async def ship(request: Item, ctx: StepContext) -> None: ...


@capability("app.note", version="1.0.0", authorization=Internal(), idempotent=True)
async def note(request: Order, ctx: StepContext) -> None: ...
"""
FLOWS = """\
import app.consts as c
from app.caps import POL, note, offer, pay, ship, unpay
from app.consts import ALLOWED, DISCOUNT, LIMIT, ORDERED, RATES, WINDOW, Lim, is_big, wrap
from app.model import Bad, Color, Done, Fin, Go, Item, Level, Order, Paid, Req
from flowx_runtime import Flow, FlowBuilder, FlowContext, Profile, flow, http_trigger


def named(ctx: FlowContext[Order]) -> bool:
    return helper(ctx.input.cents)


def helper(n: int) -> bool:
    return n > 5


@flow("app.main", version="1.0.0", profile=Profile.DURABLE, deadline="P20D")
@http_trigger("POST", "/o", idempotent=True)
class Main(Flow[Order, Done]):
    def define(self, flow: FlowBuilder[Order, Done]) -> None:
        flow.step(offer).with_policy(POL)
        flow.when(lambda ctx: ctx.input.cents > LIMIT, lambda b: b.step(note).named("a"))
        flow.when(lambda ctx: ctx.input.cents > Lim.DEAR, lambda b: b.step(note).named("b"))
        flow.when(lambda ctx: ctx.input.country in RATES, lambda b: b.step(note).named("c"))
        flow.when(lambda ctx: ctx.input.country in ALLOWED, lambda b: b.step(note).named("d"))
        flow.when(lambda ctx: is_big(ctx.input.cents), lambda b: b.step(note).named("e"))
        flow.when(lambda ctx: ctx.input.is_dear, lambda b: b.step(note).named("f"))
        flow.when(lambda ctx: ctx.input.total() > 9, lambda b: b.step(note).named("g"))
        flow.when(named, lambda b: b.step(note).named("h"))
        flow.when(lambda ctx: ctx.input.color is Color.RED, lambda b: b.step(note).named("i"))
        flow.when(lambda ctx: ctx.input.level > Level.LOW, lambda b: b.step(note).named("j"))
        flow.when(lambda ctx: ctx.input.cents > DISCOUNT, lambda b: b.step(note).named("k"))
        flow.when(lambda ctx: ctx.input.cents > c.LIMIT, lambda b: b.step(note).named("l"))
        flow.when(lambda ctx: ctx.input.country == ORDERED[0], lambda b: b.step(note).named("m"))
        flow.when(lambda ctx: ctx.input.short == "A12", lambda b: b.step(note).named("n"))
        flow.await_signal(Go, timeout=WINDOW).on_timeout(lambda late: late.fail(Bad))
        flow.step(pay, lambda ctx: Req(number=ctx.input.number)).compensate_with(unpay)
        flow.for_each(lambda ctx: ctx.input.live, lambda e: e.step(ship))
        flow.emit(Fin, lambda ctx: Fin(ref=ctx.get(Paid).ref))
        flow.returns(lambda ctx: Done(ref=ctx.get(Paid).ref))
"""
PROJECT: Mapping[str, str] = {
    "app": "",
    "app.consts": CONSTS,
    "app.model": MODEL,
    "app.caps": CAPS,
    "app.flows": FLOWS,
}


def edited(module: str, old: str, new: str) -> dict[str, str]:
    """The project with one edit."""
    assert old in PROJECT[module], f"{old!r} is not in {module}"
    return {**PROJECT, module: PROJECT[module].replace(old, new, 1)}
