"""A step that ends its process is not let end the whole fleet's, one after the other."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from engine_plans import Submit, extract, plan, upload
from engine_scene import TTL, Crash, Scene

from flowx_runtime.journal.records import State
from flowx_runtime.journal.setbacks import NODE_LOST

ORDER = Submit(document_id="o")


class Deadly:
    """A step that no process outlives; when it was tried."""

    def __init__(self, scene: Scene) -> None:
        self.tried: list[datetime] = []
        self._scene = scene

    async def __call__(self, request: Any, ctx: Any) -> Any:
        self.tried.append(self._scene.clock.now())
        raise Crash("out of memory")


async def test_what_ends_its_process_is_taken_over_later_and_later_and_goes_on_when_it_can() -> None:
    scene = Scene(plan(upload(0), extract(1)))
    deadly = Deadly(scene)
    scene.new_host(substitutes={"document.extract": deadly})
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    for _ in range(300):
        scene.clock.advance(TTL)
        scene.new_host(substitutes={"document.extract": deadly})  # each time a process that knows of nothing
        await scene.host.sweep_once()
    gaps = [(after - before) // TTL for before, after in pairwise(deadly.tried)]
    assert gaps[:3] == [1, 1, 1], "twice at once, as after any death"
    assert gaps == sorted(gaps)
    assert gaps[-1] > 30
    (setback,) = await scene.journal.setbacks([scene.only()])
    assert (setback.code, setback.times) == (NODE_LOST, len(deadly.tried) - 1)
    scene.new_host()
    scene.clock.advance(timedelta(hours=2))
    await scene.host.sweep_once()
    assert await scene.state() is State.COMPLETED
    assert list(await scene.journal.setbacks([scene.only()])) == []
