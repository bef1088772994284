"""Instances that died behind a loop of many elements, made at once from the rows that the loop has left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Captured, Commit, NewInstance, RowOutcome, StepRow
from flowx_runtime.plan import AwaitSignal, ForEach, Plan
from tests.crash.capabilities import APPROVED, Done, Item, Order
from tests.crash.drive import root_of
from tests.crash.scenarios import DAY, Scenario, each, plain, plan
from tests.crash.world import START

Make = Callable[[int], tuple[Scenario, tuple[StepRow, ...]]]


def one_after_the_other(elements: int) -> tuple[Scenario, tuple[StepRow, ...]]:
    return _loop(elements, 1)


def side_by_side(elements: int) -> tuple[Scenario, tuple[StepRow, ...]]:
    return _loop(elements, 8)


def after_timeouts(elements: int) -> tuple[Scenario, tuple[StepRow, ...]]:
    """Each element's wait timed out; only the rows of its block say so."""
    nodes = (AwaitSignal(1, "approval", APPROVED, DAY, 3), each(2, "escalate"), each(3, "p"))
    loop = _of(elements, ForEach(0, _elements(elements), Item, 4), *nodes, plain(4, "last"))
    return loop, tuple(_row(n, step_id) for n in range(elements) for step_id in (2, 3))


SHAPES: Final[dict[str, Make]] = {
    "one after the other": one_after_the_other,
    "side by side": side_by_side,
    "after timeouts": after_timeouts,
}


async def leave_behind(journal: Journal, scenario: Scenario, rows: tuple[StepRow, ...], **start: Any) -> None:
    """Put the instance into the journal as a process left it that died behind the loop."""
    made: Plan[Any, Any] = scenario.plans[0]
    text = Order(name="o").model_dump_json()
    new = NewInstance(root_of(scenario), made.flow_id, made.version, made.digest, text)
    started = await journal.start(new, **start)
    assert started.lease is not None
    await journal.commit(Commit(new.instance_id, started.lease.fencing_token, rows=rows))


def _loop(elements: int, concurrency: int) -> tuple[Scenario, tuple[StepRow, ...]]:
    nodes = (ForEach(0, _elements(elements), Item, 2, concurrency), each(1, "p"), plain(2, "last"))
    return _of(elements, *nodes), tuple(_row(n, 1) for n in range(elements))


def _of(elements: int, *nodes: Any) -> Scenario:
    def counted(ctx: Any) -> Done:
        assert len(ctx.results(Done)) == elements
        return Done(name="all")

    return Scenario((plan(*nodes, returns=counted),))


def _elements(number: int) -> Callable[[Any], tuple[Item, ...]]:
    return lambda ctx: tuple(Item(name=str(n)) for n in range(number))


def _row(element: int, step_id: int) -> StepRow:
    return StepRow(
        scope=str(element),
        step_id=step_id,
        attempt=1,
        capability_id="work.do",
        outcome=RowOutcome.SUCCESS,
        request=f'{{"name":"{element}"}}',
        result=f'{{"name":"{element}"}}',
        captured=Captured(START),
    )
