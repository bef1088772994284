"""What a flow comes to, worked out without an engine: no rows, no passes, no parking; time is a number of minutes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reference_flows import ATTEMPTS, ELEMENTS, WAIT, Item, mixed


class Failed(Exception):  # the interpreter's own way to fail a flow
    def __init__(self, code: str, at: int) -> None:
        super().__init__(code)
        self.code = code
        self.at = at


@dataclass
class Result:
    """What is compared."""

    state: str = "Completed"
    error: str | None = None
    output: str | None = None
    minutes: int = 0
    done: list[tuple[str, ...]] = field(default_factory=list)
    """Flow, step, scope and request of every step that succeeded, in order where nothing ran beside another."""
    undone: list[tuple[str, ...]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@dataclass
class Values:
    """The slots of a bag: the last note, the element, the signals."""

    start: str
    note: str | None = None
    element: str | None = None
    came: frozenset[str] = frozenset()

    def seen(self) -> str:
        return mixed(self.start, self.note or "", self.element or "", *sorted(f"came.{name}" for name in self.came))

    def inner(self, element: str | None = None) -> Values:
        return Values(self.start, self.note, element or self.element, self.came)


@dataclass
class Interpreter:
    flow: str
    result: Result
    values: Values
    scope: str = ""

    def run(self, block: Sequence[Item], now: int) -> int:
        for item in block:
            now = self.item(item, now)
        return now

    def item(self, item: Item, now: int) -> int:
        match item.kind:
            case "step":
                return self.step(item.name, item.number, now)
            case "delay":
                return now + item.number
            case "emit":
                self.result.said.append(self.values.seen())
                return now
            case "fail":
                raise Failed("document.not_read_in_time", now)
            case "when":
                taken = item.blocks[0:1] if item.flag else item.blocks[1:2]
                return self.run(taken[0], now) if taken else now
            case "switch":
                return self.run(item.blocks[item.number], now)
            case "fork":
                branches = [self.beside(block) for block in item.blocks]
                return max(branch(now) for branch in branches)
            case "settled":
                # The branch that fails leaves nothing, and is given up after its attempts.
                self.step(f"{item.name}s", 0, now)
                return now + ATTEMPTS - 1
            case "race":
                return self.step(f"{item.name}s", 0, now)
            case "loop":
                return self.loop(item, now)
            case "tolerant":
                return self.tolerant(item, now)
            case "await":
                return self.wait(item, now)
            case "poll" | "poll or signal":
                return self.poll(item, now)
            case _:
                return self.child(item, now)

    def step(self, name: str, fails: int, now: int) -> int:
        if fails >= ATTEMPTS:
            raise Failed("work.broken", now + ATTEMPTS - 1)
        request = self.values.seen()
        self.result.done.append((self.flow, name, self.scope, request))
        self.values.note = mixed(name, request)
        return now + fails

    def beside(self, block: Sequence[Item]) -> Callable[[int], int]:
        """A branch: it sees what was there before the fork, and what it leaves is put over that at the join."""
        own = Interpreter(self.flow, self.result, self.values.inner(), self.scope)

        def branch(now: int) -> int:
            before = own.values.inner()
            end = own.run(block, now)
            self.take(own, before)
            return end

        return branch

    def loop(self, item: Item, now: int) -> int:
        # An element begins when one of the places is free; the elements are begun in order.
        free = [now] * item.number
        before = self.values.inner()
        for number, element in enumerate(ELEMENTS):
            own = self.element(before, number, element)
            heapq.heappush(free, own.run(item.blocks[0], heapq.heappop(free)))
            self.take(own, before)
        return max(free)

    def tolerant(self, item: Item, now: int) -> int:
        before = self.values.inner()
        for number, element in enumerate(ELEMENTS):
            own = self.element(before, number, element)
            try:
                now = own.step(f"{item.name}t", ATTEMPTS if element == "y" else 0, now)
                now = own.run(item.blocks[0], now)
            except Failed as failed:
                now = failed.at
            else:
                self.take(own, before)
        return now

    def element(self, before: Values, number: int, element: str) -> Interpreter:
        scope = f"{self.scope}/{number}" if self.scope else str(number)
        return Interpreter(self.flow, self.result, before.inner(element), scope)

    def take(self, own: Interpreter, before: Values) -> None:
        if own.values.note != before.note:
            self.values.note = own.values.note
        self.values.came |= own.values.came

    def wait(self, item: Item, now: int) -> int:
        if item.flag:
            self.values.came |= {item.name}
            return now
        if not item.blocks:
            raise Failed("flow.signal_not_received", now + WAIT)
        return self.run(item.blocks[0], now + WAIT)

    def poll(self, item: Item, now: int) -> int:
        if item.kind == "poll or signal" and item.number > 1:
            self.values.came |= {item.name}
            return now
        if item.number <= WAIT:  # one attempt a minute, the first at once
            return now + item.number - 1
        if not item.blocks:
            raise Failed("flow.poll_not_satisfied", now + WAIT)
        return self.run(item.blocks[0], now + WAIT)

    def child(self, item: Item, now: int) -> int:
        own = Interpreter(item.name, self.result, Values(self.values.seen()))
        now = own.run(item.blocks[0], now)
        self.values.note = own.values.note or own.values.seen()
        return now


def interpret(block: Sequence[Item], start: str) -> Result:
    """What the flow comes to."""
    result = Result()
    interpreter = Interpreter("reference", result, Values(start))
    try:
        result.minutes = interpreter.run(block, 0)
        result.output = interpreter.values.note or interpreter.values.seen()
    except Failed as failed:
        result.state, result.error, result.minutes = "Failed", failed.code, failed.at
        result.undone = list(reversed(result.done))
    return result
