"""Flows of every construct as plain data, and how a plan lays each of them out."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from engine_plans import NotInTime, plan, use
from hypothesis import strategies as st

from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.capabilities import capability
from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.messages import event, signal
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.authoring.vocabulary import Category, Profile
from flowx_runtime.plan import (
    AwaitSignal,
    Branch,
    Delay,
    Emit,
    EventUse,
    Fail,
    ForEach,
    Jump,
    Parallel,
    Poll,
    SignalUse,
    Step,
    SubFlow,
    Switch,
)

MINUTE = timedelta(minutes=1)
ATTEMPTS = 3
WAIT = 4
"""Minutes after which a wait for a signal runs out."""


class Start(Contract):
    text: str


class Element(Contract):
    text: str


class Work(Contract):
    name: str
    text: str
    fails: int


class Note(Contract):
    text: str


class Asked(Contract):
    times: int


@event("reference.said", version="1.0.0")
class Said(Contract):
    text: str


@cache
def came(name: str) -> SignalUse:
    """A signal of its own for one wait, so that no other takes it."""
    contract = signal(f"came.{name}")(type(f"Came_{name}", (Contract,), {"__module__": __name__}))
    return SignalUse(contract, f"came.{name}")


class Broken(FlowError, code="work.broken", category=Category.CONFLICT):
    """It does not work."""


@capability("work", version="1.0.0", authorization=Internal(), idempotent=True)
async def work(request: Work, ctx: StepContext) -> Note:
    raise NotImplementedError


@capability("unwork", version="1.0.0", authorization=Internal(), idempotent=True)
async def unwork(request: Work, ctx: StepContext) -> None:
    raise NotImplementedError


@capability("ask", version="1.0.0", authorization=Internal(), idempotent=True)
async def ask(request: Start, ctx: StepContext) -> Asked:
    raise NotImplementedError


WORK, UNWORK, ASK = use(work, Work, Note), use(unwork, Work, None), use(ask, Start, Asked)
SAID = EventUse(Said, "reference.said", "1.0.0")
RETRIED = PolicySet("p", retry=Retry(ATTEMPTS, Backoff.fixed(MINUTE)))
ELEMENTS = ("x", "y", "z")


def mixed(*parts: str) -> str:
    """A short text that depends on every part."""
    return f"{zlib.crc32('|'.join(parts).encode()):08x}"


@dataclass(frozen=True)
class Item:
    """One construct; its blocks are tuples of constructs."""

    kind: str
    blocks: tuple[tuple[Item, ...], ...] = ()
    number: int = 0
    flag: bool = False
    name: str = ""


def blocks(
    depth: int, *, may_fail: bool, may_wait: bool = True, may_race: bool = False
) -> st.SearchStrategy[tuple[Item, ...]]:
    inside = items(depth, may_fail=may_fail, may_wait=may_wait, may_race=may_race)
    return st.lists(inside, min_size=1, max_size=3).map(tuple)


def items(depth: int, *, may_fail: bool, may_wait: bool = True, may_race: bool = False) -> st.SearchStrategy[Item]:
    """Constructs; those that can fail only where nothing runs beside them, or what had been done would be a race."""
    fails = ATTEMPTS if may_fail else ATTEMPTS - 1
    leaves = [
        st.builds(Item, st.just("step"), number=st.sampled_from([0, 0, 0, 1, fails])),
        st.just(Item("emit")),
        st.just(Item("settled")),
    ]
    if may_fail:
        failing = ["await", "poll", "fail"] if may_wait else ["fail"]
        leaves.append(st.builds(Item, st.sampled_from(failing), number=st.just(9)))
    waiting = [
        st.builds(Item, st.just("delay"), number=st.integers(1, 3)),
        st.builds(Item, st.just("await"), flag=st.just(value=True)),
        st.builds(Item, st.just("poll"), number=st.integers(1, 4)),
        st.builds(Item, st.just("poll or signal"), number=st.integers(1, 6)),
        st.just(Item("race")),
    ]
    leaves += waiting if may_wait else []
    if not depth:
        return st.one_of(leaves)
    inner = blocks(depth - 1, may_fail=may_fail, may_wait=may_wait, may_race=may_race)
    beside = blocks(depth - 1, may_fail=may_race, may_wait=may_wait, may_race=may_race)
    waiting = [
        st.builds(Item, st.just("await"), st.tuples(inner), flag=st.booleans()),
        st.builds(Item, st.just("poll"), st.tuples(inner), st.integers(1, 8)),
    ]
    return st.one_of(
        *leaves,
        st.builds(Item, st.just("when"), st.tuples(inner), flag=st.booleans()),
        st.builds(Item, st.just("when"), st.tuples(inner, inner), flag=st.booleans()),
        st.builds(Item, st.just("switch"), st.tuples(inner, inner, inner), st.integers(0, 2)),
        st.builds(Item, st.just("fork"), st.lists(beside, min_size=2, max_size=3).map(tuple)),
        st.builds(Item, st.just("loop"), st.tuples(inner), st.just(1)),
        st.builds(Item, st.just("loop"), st.tuples(beside), st.integers(2, 3)),
        st.builds(Item, st.just("tolerant"), st.tuples(beside)),
        st.builds(Item, st.just("child"), st.tuples(inner)),
        *(waiting if may_wait else []),
    )


def named(block: tuple[Item, ...], prefix: str = "n") -> tuple[Item, ...]:
    """The same flow with a name for every construct."""
    return tuple(
        Item(
            item.kind,
            tuple(named(inner, f"{prefix}{at}_{number}_") for number, inner in enumerate(item.blocks)),
            item.number,
            item.flag,
            f"{prefix}{at}",
        )
        for at, item in enumerate(block)
    )


@dataclass
class Layout:
    """Lays constructs out as the compiler does: forward targets only."""

    nodes: list[Any] = field(default_factory=list)
    children: list[Any] = field(default_factory=list)
    arriving: set[str] = field(default_factory=set)
    """The signals that come as soon as somebody waits for them."""
    signals: list[SignalUse] = field(default_factory=list)
    profile: Profile = Profile.DURABLE

    def plans(self, block: tuple[Item, ...]) -> tuple[Any, ...]:
        self.block(block)
        return (self.plan("reference"), *self.children)

    def plan(self, flow_id: str) -> Any:
        returns = lambda ctx: ctx.find(Note) or Note(text=self.seen(ctx))  # noqa: E731
        return plan(*self.nodes, flow_id=flow_id, input=Start, output=Note, returns=returns, profile=self.profile)

    def block(self, block: tuple[Item, ...]) -> None:
        for item in block:
            self.item(item)

    def item(self, item: Item) -> None:
        at = len(self.nodes)
        match item.kind:
            case "step":
                self.step(item.name, fails=item.number)
            case "delay":
                self.nodes.append(Delay(at, item.name, item.number * MINUTE))
            case "emit":
                self.nodes.append(Emit(at, item.name, SAID, lambda ctx: Said(text=self.seen(ctx))))
            case "fail":
                self.nodes.append(Fail(at, NotInTime))
            case "when":
                self.when(at, item)
            case "switch":
                self.switch(at, item)
            case "fork":
                self.fork(at, item.blocks, Merge.ALL_MUST_SUCCEED)
            case "settled":
                self.fork(at, ((Item("step", number=ATTEMPTS, name=f"{item.name}f"),),), Merge.ALL_SETTLED, also=item)
            case "race":
                self.fork(at, ((Item("delay", number=2, name=f"{item.name}d"),),), Merge.FIRST_SUCCESS, also=item)
            case "loop" | "tolerant":
                self.loop(at, item)
            case "await":
                self.wait(at, item)
            case "poll" | "poll or signal":
                self.poll(at, item)
            case "child":
                self.child(at, item)

    def step(self, name: str, *, fails: int = 0, only_for: str = "") -> None:
        def request(ctx: Any) -> Work:
            element = ctx.find(Element)
            spared = only_for and (element is None or element.text != only_for)
            return Work(name=name, text=self.seen(ctx), fails=0 if spared else fails)

        self.nodes.append(Step(len(self.nodes), name, WORK, request, UNWORK, RETRIED))

    def when(self, at: int, item: Item) -> None:
        self.nodes.append(None)
        self.block(item.blocks[0])
        jump = len(self.nodes)
        self.nodes.append(None)
        for otherwise in item.blocks[1:]:
            self.block(otherwise)
        self.nodes[at] = Branch(at, lambda ctx: item.flag, jump + 1)
        self.nodes[jump] = Jump(jump, len(self.nodes))

    def switch(self, at: int, item: Item) -> None:
        self.nodes.append(None)
        starts, jumps = [], []
        for block in item.blocks:
            starts.append(len(self.nodes))
            self.block(block)
            jumps.append(len(self.nodes))
            self.nodes.append(None)
        self.nodes[at] = Switch(at, lambda ctx: item.number, ((0, starts[0]), (1, starts[1])), starts[2])
        for jump in jumps:
            self.nodes[jump] = Jump(jump, len(self.nodes))

    def fork(self, at: int, branches: tuple[tuple[Item, ...], ...], merge: Merge, also: Item | None = None) -> None:
        if also is not None:
            branches = (*branches, (Item("step", name=f"{also.name}s"),))
        self.nodes.append(None)
        starts = []
        for block in branches:
            starts.append(len(self.nodes))
            self.block(block)
        self.nodes[at] = Parallel(at, tuple(starts), len(self.nodes), merge)

    def loop(self, at: int, item: Item) -> None:
        self.nodes.append(None)
        tolerant = item.kind == "tolerant"
        if tolerant:
            self.step(f"{item.name}t", fails=ATTEMPTS, only_for="y")
        self.block(item.blocks[0])
        elements = tuple(Element(text=text) for text in ELEMENTS)
        self.nodes[at] = ForEach(
            at, lambda ctx: elements, Element, len(self.nodes), item.number or 1, continue_on_error=tolerant
        )

    def wait(self, at: int, item: Item) -> None:
        self.nodes.append(None)
        for block in item.blocks:
            self.block(block)
        target = len(self.nodes) if item.blocks else None
        self.nodes[at] = AwaitSignal(at, item.name, self.signal(item), WAIT * MINUTE, target)
        if item.flag:
            self.arriving.add(came(item.name).id)

    def poll(self, at: int, item: Item) -> None:
        is_signalled = item.kind == "poll or signal"
        self.nodes.append(None)
        self.nodes.append(Step(at + 1, item.name, ASK, lambda ctx: Start(text=""), None))
        for block in item.blocks:
            self.block(block)
        self.nodes[at] = Poll(
            at,
            lambda ctx: ctx.get(Asked).times >= item.number,
            Backoff.fixed(MINUTE),
            WAIT * MINUTE,
            len(self.nodes) if item.blocks else None,
            self.signal(item) if is_signalled else None,
        )
        if is_signalled:
            self.arriving.add(came(item.name).id)

    def signal(self, item: Item) -> SignalUse:
        self.signals.append(came(item.name))
        return self.signals[-1]

    def seen(self, ctx: Any) -> str:
        """Everything a step may see of what came before it, as one text."""
        found = [ctx.find(contract) for contract in (Note, Element)]
        signals = sorted(use.id for use in self.signals if ctx.find(use.type) is not None)
        return mixed(ctx.input.text, *("" if value is None else value.text for value in found), *signals)

    def child(self, at: int, item: Item) -> None:
        inner = Layout(children=self.children, arriving=self.arriving, signals=self.signals, profile=self.profile)
        inner.block(item.blocks[0])
        self.children.append(inner.plan(item.name))
        self.nodes.append(SubFlow(at, item.name, item.name, "1.0.0", lambda ctx: Start(text=self.seen(ctx))))
