"""Instances that a host is working on, when it loses one and takes it up anew."""

from __future__ import annotations

import asyncio

from engine_plans import Fields, Submit, extract, plan, upload
from engine_scene import Scene

from flowx_runtime import Completed
from flowx_runtime.journal.records import Refused

ORDER = Submit(document_id="o")


async def test_a_run_whose_instance_its_own_host_took_up_anew_ends_without_a_word():
    scene = Scene(plan(upload(0), extract(1)))
    begun, go_on = asyncio.Event(), asyncio.Event()
    calls = 0

    async def first_is_slow(request, ctx):
        nonlocal calls
        calls += 1
        if calls == 1:
            begun.set()
            await go_on.wait()
        return Fields(count=calls)

    host = scene.new_host(substitutes={"document.extract": first_is_slow})
    first = asyncio.create_task(host.run("document.process", ORDER))
    await begun.wait()
    await scene.journal.release(scene.only(), fencing_token=1)  # as if it had run out
    assert isinstance(await host.resume(scene.only()), Completed)
    go_on.set()
    assert isinstance(await first, Completed)
    assert host._engine.held == {}
    assert not isinstance(await scene.journal.read(scene.only()), Refused)


async def test_the_newer_run_stays_among_those_held_until_it_ends():
    scene = Scene(plan(upload(0), extract(1)))
    begun, go_on = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]
    calls = iter(range(2))

    async def slow(request, ctx):
        number = next(calls)
        begun[number].set()
        await go_on[number].wait()
        return Fields(count=number)

    host = scene.new_host(substitutes={"document.extract": slow})
    first = asyncio.create_task(host.run("document.process", ORDER))
    await begun[0].wait()
    await scene.journal.release(scene.only(), fencing_token=1)
    second = asyncio.create_task(host.resume(scene.only()))
    await begun[1].wait()
    go_on[0].set()
    await first
    assert list(host._engine.held) == [scene.only()], "its lease is still to be renewed"
    go_on[1].set()
    await second
    assert host._engine.held == {}
