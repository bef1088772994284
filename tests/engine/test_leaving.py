"""A host that is left while its runs are under way."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest
from engine_plans import Fields, Submit, extract, plan, upload
from engine_scene import Scene

from flowx_runtime import Completed
from flowx_runtime.host import flow_host
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.plan import Delay

ORDER = Submit(document_id="o")
AT_ONCE = timedelta(0)


class Slow:
    """A capability that is under way until it is told to go on."""

    def __init__(self, told: list[str]) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.told = told
        self.is_deaf = False

    async def __call__(self, request, ctx):
        self.begun.set()
        while not self.go_on.is_set():
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.told.append("cancelled")
                if not self.is_deaf:
                    await asyncio.sleep(0)  # what it does on the way out is part of what it does
                    self.told.append("stopped")
                    raise
        self.told.append("effect")
        return Fields(count=1)


def slow_host(*plans, **settings) -> tuple[Scene, Slow]:
    scene = Scene(*(plans or [plan(upload(0), extract(1))]))
    slow = Slow(told := [])
    release = scene.journal.release

    async def released(*given, **named):
        told.append("released")
        return await release(*given, **named)

    scene.journal.release = released
    scene.new_host(substitutes={"document.extract": slow}, drain=AT_ONCE, **settings)
    return scene, slow


async def test_a_callers_run_is_stopped_before_its_lease_is_given_back():
    scene, slow = slow_host()
    async with scene.host:
        run = asyncio.create_task(scene.host.run("document.process", ORDER, idempotency_key="k"))
        await slow.begun.wait()
    assert slow.told == ["cancelled", "stopped", "released"]
    with pytest.raises(JournalUnavailable, match="this host was left while the run was under way"):
        await run
    assert isinstance(await scene.new_host().resume(scene.only()), Completed)


async def test_the_caller_goes_on_after_its_run_was_stopped():
    scene, slow = slow_host()

    async def caller() -> str:
        try:
            await scene.host.run("document.process", ORDER)
        except JournalUnavailable:
            await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            return f"goes on, cancelled {task.cancelling()} times"
        return "ended"

    async with scene.host:
        calling = asyncio.create_task(caller())
        await slow.begun.wait()
    assert await calling == "goes on, cancelled 0 times"


async def test_a_caller_who_is_cancelled_by_another_stays_so():
    scene, slow = slow_host()
    async with scene.host:
        run = asyncio.create_task(scene.host.run("document.process", ORDER))
        await slow.begun.wait()
        closing = asyncio.create_task(scene.host.close())
        run.cancel()
        await closing
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_capability_that_does_not_stop_keeps_nobody_from_leaving(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(flow_host, "_LAST_WORDS", 0.02)
    scene, slow = slow_host()
    slow.is_deaf = True
    async with scene.host:
        run = asyncio.create_task(scene.host.run("document.process", ORDER))
        await slow.begun.wait()
        with caplog.at_level(logging.ERROR, "flowx.host"):
            await asyncio.wait_for(scene.host.close(), 5)
        slow.go_on.set()
        await asyncio.wait([run])
    assert f"would not stop when they were cancelled: {scene.only()}" in caplog.text


async def test_one_that_a_sweep_took_up_keeps_nobody_from_leaving_either(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flow_host, "_LAST_WORDS", 0.02)
    scene, slow = slow_host(
        plan(upload(0), Delay(1, "wait", timedelta(minutes=1)), extract(2)), sweep_interval=timedelta(milliseconds=5)
    )
    slow.is_deaf = True
    async with scene.host:
        await scene.host.run("document.process", ORDER)
        scene.clock.advance(timedelta(minutes=1))
        await asyncio.wait_for(slow.begun.wait(), 5)
        await asyncio.wait_for(scene.host.close(), 5)
        slow.go_on.set()
