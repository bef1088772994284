"""Flows of random shape, killed at random commits, end as if nobody had killed them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from engine_plans import (
    ARCHIVE,
    CANCEL,
    INTERVAL,
    SIGNED,
    STATUS,
    UNARCHIVE,
    UPLOAD,
    Job,
    NotInTime,
    Status,
    Submit,
    plan,
)
from engine_scene import Crash, Scene
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowx_runtime.authoring.merge import Merge
from flowx_runtime.journal.records import RowOutcome, State
from flowx_runtime.plan import AwaitSignal, Branch, Delay, Fail, ForEach, Jump, Parallel, Poll, Step

MINUTE = timedelta(minutes=1)
ELEMENTS = (Submit(document_id="x"), Submit(document_id="y"))


@dataclass(frozen=True)
class Item:
    """One construct; its blocks are lists of constructs."""

    kind: str
    blocks: tuple[tuple[Item, ...], ...] = ()
    number: int = 1


def items(depth: int) -> st.SearchStrategy[Item]:
    leaves = st.builds(Item, st.sampled_from(["upload", "archive", "delay", "poll"]), number=st.integers(1, 3))
    if not depth:
        return leaves
    block = st.lists(items(depth - 1), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        leaves,
        st.builds(Item, st.sampled_from(["when", "unless", "timeout"]), st.tuples(block)),
        st.builds(Item, st.just("fork"), st.tuples(block, block)),
        st.builds(Item, st.just("loop"), st.tuples(block), st.integers(1, 2)),
    )


@dataclass
class Layout:
    """Lays constructs out as the compiler does: forward targets only."""

    nodes: list[Any] = field(default_factory=list)

    def add(self, make: Any) -> int:
        self.nodes.append(make)
        return len(self.nodes) - 1

    def block(self, block: tuple[Item, ...]) -> None:
        for item in block:
            self.item(item)

    def item(self, item: Item) -> None:
        at = len(self.nodes)
        match item.kind:
            case "upload":
                self.add(Step(at, f"s{at}", UPLOAD, _request(at), CANCEL))
            case "archive":
                self.add(Step(at, f"s{at}", ARCHIVE, _request(at), UNARCHIVE))
            case "delay":
                self.add(Delay(at, f"d{at}", item.number * MINUTE))
            case "poll":
                self.add(Poll(at, lambda ctx: ctx.get(Status).asked >= item.number, INTERVAL, timedelta(days=9)))
                self.add(Step(at + 1, f"s{at + 1}", STATUS, lambda ctx: Job(job_id="polled")))
            case "when" | "unless":
                self.add(None)
                self.block(item.blocks[0])
                jump = self.add(None)
                self.nodes[at] = Branch(at, lambda ctx: item.kind == "when", jump + 1)
                self.nodes[jump] = Jump(jump, jump + 1)
            case "timeout":
                self.add(None)
                self.block(item.blocks[0])
                self.nodes[at] = AwaitSignal(at, f"w{at}", SIGNED, 2 * MINUTE, len(self.nodes))
            case "fork":
                self.add(None)
                starts = []
                for block in item.blocks:
                    starts.append(len(self.nodes))
                    self.block(block)
                self.nodes[at] = Parallel(at, tuple(starts), len(self.nodes), Merge.ALL_MUST_SUCCEED)
            case "loop":
                self.add(None)
                self.block(item.blocks[0])
                self.nodes[at] = ForEach(at, lambda ctx: ELEMENTS, Submit, len(self.nodes), item.number)


def _request(at: int) -> Any:
    return lambda ctx: Submit(document_id=f"{at}{ctx.get(Submit).document_id}")


async def _status(request: Job, ctx: Any) -> Status:
    return Status(state="", asked=int(ctx.scope.rpartition("/")[2]) + 1)


async def run(nodes: list[Any], crashes: set[int], after: set[int]) -> Scene:
    scene = Scene(plan(*nodes))
    substitutes = {"ocr.status": _status}
    scene.new_host(substitutes=substitutes)
    scene.journal.crash_before |= crashes
    scene.journal.crash_after |= after
    try:
        await scene.host.run("document.process", Submit(document_id=""))
    except Crash:
        await scene.recover(substitutes=substitutes)
    for _ in range(300):
        if (await scene.state()).is_terminal:
            return scene
        wake = await scene.journal.next_wake()
        if wake is not None:
            scene.clock.move_to(wake)
        await scene.recover(substitutes=substitutes)
    raise AssertionError("it never ends")


CRASHES = st.sets(st.integers(0, 20), max_size=6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(items(2), min_size=1, max_size=3).map(tuple), CRASHES, CRASHES)
def test_a_flow_of_any_shape_completes_with_the_same_rows_and_effects(block, before, after):
    layout = Layout()
    layout.block(block)

    async def both() -> None:
        undisturbed = await run(layout.nodes, set(), set())
        disturbed = await run(layout.nodes, before, after)
        assert await undisturbed.state() is State.COMPLETED
        assert await disturbed.state() is State.COMPLETED
        assert sorted(await disturbed.rows()) == sorted(await undisturbed.rows())
        assert set(disturbed.world.effects) == set(undisturbed.world.effects)

    asyncio.run(both())


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(items(2), min_size=1, max_size=3).map(tuple), CRASHES, CRASHES)
def test_a_flow_of_any_shape_that_fails_undoes_each_of_its_steps_once(block, before, after):
    layout = Layout()
    layout.block(block)
    layout.add(Fail(len(layout.nodes), NotInTime))

    async def once() -> None:
        scene = await run(layout.nodes, before, after)
        assert await scene.state() is State.FAILED
        rows = (await scene.history()).rows
        undoable = {"ocr.upload": "ocr.cancel", "offer.archive": "offer.unarchive"}
        done = [row for row in rows if row.capability_id in undoable]
        undone = [row for row in rows if row.outcome is RowOutcome.COMPENSATED]
        expected = [(row.scope, row.step_id, undoable[row.capability_id]) for row in reversed(done)]
        assert [(row.scope, row.step_id, row.capability_id) for row in undone] == expected
        assert max(Counter(expected).values(), default=1) == 1

    asyncio.run(once())
