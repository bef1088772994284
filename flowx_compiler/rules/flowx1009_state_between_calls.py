"""A capability or flow that keeps state between calls.

What it detects: in a capability or flow class, an assignment to an attribute outside `__init__`, a
change of a list, dict or set that the class or its `__init__` made, a mutable value at class level,
and a cache around a method; in a capability, `global`, and a change of a module-level list, dict or
set. An error where a durable flow comes to it, a warning elsewhere.

Why it matters: One instance serves all calls in flight, so the state is shared by runs that have
nothing to do with each other; and no row records it, so a resumed run finds another value.

What it cannot prove: what happens inside an injected object.

When to suppress: The state is about the process and not about any run, such as a connection opened
on first use.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.reach import journaled
from flowx_compiler.check.state import StateChange, class_state, function_state
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Flow, Program
from flowx_compiler.rules.rule import ERROR, WARNING, Example, Rule

RULE = Rule("FLOWX1009", "state-between-calls", WARNING)

INVALID = (
    Example(
        """\
flow.step(Count)
""",
        module="""\
@capability("example.count", version="1.0.0", authorization=Internal(), idempotent=True)
class Count:
    def __init__(self) -> None:
        self._seen = 0

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        self._seen += 1  # <-
        return ManualReview(ticket=str(self._seen))
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(Count)
""",
        module="""\
from typing import Protocol


class Counter(Protocol):
    async def add(self, key: str) -> int: ...


@capability("example.count", version="1.0.0", authorization=Internal(), idempotent=True)
class Count:
    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        return ManualReview(ticket=str(await self._counter.add(request.order_id)))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every change of something that outlives the call."""
    reached = journaled(program)
    for capability in program.capabilities.values():
        changes = function_state(program, capability.module, capability.function)
        if capability.owner is not None:
            changes = class_state(program, capability.module, capability.owner)
        yield from _report(changes, f"capability {capability.id!r}", reached.get(capability.name))
    for flow in program.flows.values():
        yield from _report(class_state(program, flow.module, flow.syntax), f"flow {flow.id!r}", reached.get(flow.name))


def _report(changes: Iterator[StateChange], owner: str, flow: Flow | None) -> Iterator[Finding]:
    for change in changes:
        yield RULE.finding(
            change.place,
            f"{owner} {change.what}",
            label="shared by every run in flight, and in no row",
            help="keep what belongs to a call in locals, and put counters and caches behind an injected object",
            related=() if flow is None else (Related(flow.name_place, "this durable flow comes here"),),
            severity=WARNING if flow is None else ERROR,
        )
