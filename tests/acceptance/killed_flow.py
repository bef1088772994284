"""The flow of a process that is killed: its effects are lines of a file, which outlives it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from flowx_runtime import StepContext
from flowx_runtime.plan import Delay
from tests.acceptance.small_flows import Answer, Note, Order, plan, step

PLAN = plan(step(0, "reserve"), Delay(1, "rest", timedelta(seconds=0.2)), step(2, "ship"))


def reserve(effects: str) -> Answer:
    return _writing(effects)


def ship(effects: str) -> Answer:
    return _writing(effects)


def _writing(effects: str) -> Answer:
    async def answer(request: Order, ctx: StepContext) -> Note:
        with Path(effects).open("a") as file:  # noqa: ASYNC230  one short line
            file.write(f"{ctx.capability_id}:{ctx.idempotency_key}\n")
        return Note(text="")

    return answer
