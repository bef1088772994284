"""Long histories: cases users of other engines reported, by their number. What a resume asks is in tests/crash."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from flowx_runtime import Completed, FlowHost, MemoryJournal
from flowx_runtime.engine.long_history import LONG
from flowx_runtime.journal.records import Commit, NewInstance, RowOutcome, StepRow
from flowx_runtime.plan import ForEach
from tests.acceptance.conftest import VirtualClock
from tests.acceptance.small_flows import Order, World, no_pause, plan, step

TTL = timedelta(seconds=30)
DIED = UUID("01900000-0000-7000-8000-000000000000")


def _looping(elements: int) -> Any:
    loop = ForEach(0, lambda ctx: tuple(Order(name=str(n)) for n in range(elements)), Order, 2)
    return plan(loop, step(1, "a"), step(2, "b"), step(3, "c"))


@pytest.mark.parametrize("elements", [LONG - 3, LONG - 2, LONG - 1, LONG])
async def test_p39_a_history_that_passes_ten_thousand_rows_is_told_of_once(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture, elements: int
) -> None:
    made = _looping(elements)
    journal = MemoryJournal(clock.now)
    new = NewInstance(DIED, "order.place", "1.0.0", "d1", '{"name":"o"}')
    await journal.start(new, owner="dead", ttl=TTL)
    rows = tuple(StepRow(str(n), 1, 1, "a", RowOutcome.SUCCESS, "a", result='{"text":"a"}') for n in range(elements))
    await journal.commit(Commit(DIED, 1, rows=rows))
    clock.advance(TTL)
    caplog.set_level(logging.WARNING)
    async with FlowHost(
        [made],
        journal=journal,
        clock=clock,
        sweep_interval=None,
        pause=no_pause,
        substitutes=World().substitutes(made),
    ) as host:
        await host.sweep_once()
        outcome = await host.outcome(DIED)
        counted = host._counts().long_histories
    assert isinstance(outcome, Completed)
    said = [record.getMessage() for record in caplog.records if "has passed" in record.getMessage()]
    passes_here = elements < LONG <= elements + 2
    assert dict(counted) == ({"order.place": 1} if passes_here else {})
    assert [f"instance {DIED} of order.place has passed 10,000 rows" in text for text in said] == [True] * passes_here
