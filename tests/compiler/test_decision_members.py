"""What a decision reads through members of the project's classes is followed as what it reads through helpers is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flowx_compiler.findings import Finding
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.rules.run import run_rules

SOURCE = """\
import time
from dataclasses import dataclass
from random import random

from flowx_runtime import Contract, Flow, FlowBuilder, Internal, Profile, StepContext, capability, flow


class Item(Contract):
    sku: str

    @property
    def is_late(self) -> bool:
        {late}


class Held(Contract):
    items: frozenset[Item]

    @property
    def listed(self) -> tuple[Item, ...]:
        {listed}


class Order(Held):
    inner: Held | None = None
    lines: tuple[Item, ...] = ()

    def total(self) -> int:
        {total}

    @property
    def above(self) -> tuple[Item, ...]:
        return self.listed


class Other(Contract):
    items: tuple[Item, ...]

    @property
    def later(self) -> float:
        return time.time()

    def loops(self) -> bool:
        return self.loops()


def first(order: Order) -> Item:
    return {first}


@capability("app.use", version="1.0.0", authorization=Internal(), idempotent=True)
async def use(request: Order, ctx: StepContext) -> Other: ...


@capability("app.pay", version="1.0.0", authorization=Internal(), idempotent=True)
async def pay(request: Item, ctx: StepContext) -> None: ...


@flow("app.main", version="1.0.0", profile=Profile.DURABLE, deadline="P20D")
class Main(Flow[Order, None]):
    def define(self, flow: FlowBuilder[Order, None]) -> None:
        flow.step(use)
        {flow}
"""
PURE = {
    "late": "return self.sku > 'm'",
    "listed": "return tuple(sorted(self.items, key=lambda item: item.sku))",
    "total": "return len(self.items)",
    "first": "order.listed[0]",
}


def found(flow: str, **edits: str) -> list[Finding]:
    text = SOURCE.format(**{**PURE, **edits, "flow": flow})
    program = link(Sources.of([SourceFile("app", "app.py", text.encode())]))
    return [finding for finding in run_rules(program) if finding.id == "FLOWX1011"]


EACH = "flow.for_each(lambda ctx: ctx.input.{}, lambda e: e.step(pay))"
WHEN = "flow.when(lambda ctx: {}, lambda b: b.step(use).named('x'))"
READS = {
    "a property": (EACH.format("listed"), {"listed": "return tuple(self.items)"}, "tuple(self.items)"),
    "a property of a base, through another": (
        EACH.format("above"),
        {"listed": "return list(self.items)"},
        "list(self.items)",
    ),
    "a list made of a set": (
        EACH.format("listed"),
        {"listed": "return [item for item in self.items]"},
        "for … in self.items",
    ),
    "a set unpacked": (EACH.format("listed"), {"listed": "return (*self.items,)"}, "*self.items"),
    "a generator over a set": (
        EACH.format("listed"),
        {"listed": "return tuple(item for item in self.items)"},
        "tuple(…)",
    ),
    "the first of a loop": (
        WHEN.format("ctx.input.listed"),
        {"listed": "\n        for item in self.items:\n            return item"},
        "for … in self.items",
    ),
    "a method": (WHEN.format("ctx.input.total() > 1"), {"total": "return time.time_ns()"}, "time.time_ns()"),
    "a member of an element": (
        WHEN.format("any(line.is_late for line in ctx.input.lines)"),
        {"late": "return random() > 1"},
        "random.random()",
    ),
    "a member of a value that a step gave": (WHEN.format("ctx.get(Other).later > 1"), {}, "time.time()"),
    "a member of a member": (
        WHEN.format("ctx.input.inner.listed == ()"),
        {"listed": "return tuple(self.items)"},
        "tuple(self.items)",
    ),
    "a member, through a helper": (
        WHEN.format("first(ctx.input) == 1"),
        {"listed": "return tuple(self.items)"},
        "tuple(self.items)",
    ),
    "a helper that is given a set": (
        WHEN.format("first(ctx.input) == 1"),
        {"first": "next(iter(order.items))"},
        "iter(order.items)",
    ),
}


@pytest.mark.parametrize("case", READS)
def test_it_is_found_where_the_decision_asks_for_it(case: str) -> None:
    flow, edits, name = READS[case]
    findings = found(flow, **edits)
    assert [finding.message.partition("` is ")[0].removeprefix("`") for finding in findings] == [name]
    line = SOURCE.format(**{**PURE, **edits, "flow": flow}).splitlines()[findings[0].place.span.line - 1]
    assert flow in line


def silent() -> Iterator[str]:
    yield EACH.format("listed")
    yield WHEN.format("ctx.input.total() > 1")
    yield WHEN.format("any(item.is_late for item in ctx.input.items)")
    yield WHEN.format("sorted(item.sku for item in ctx.input.items) == []")
    yield WHEN.format("sum(1 for item in ctx.input.items) == 1")
    yield WHEN.format("tuple(ctx.get(Other).items) == ()")
    yield WHEN.format("ctx.get(Other).loops()")
    yield WHEN.format("'a' in {item.sku for item in ctx.input.items}")


@pytest.mark.parametrize("flow", list(silent()))
def test_what_is_the_same_in_whatever_order_is_fine(flow: str) -> None:
    assert found(flow) == []
