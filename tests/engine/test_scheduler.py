"""Loops that find work: promptness, fairness, leases of long runs."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED as FIRST
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from engine_plans import Fields, Job, Submit, extract, plan, upload
from engine_scene import TTL, Scene

from flowx_runtime import Suspended
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Delay
from flowx_runtime.scheduler.renewal import Renewal

ORDER = Submit(document_id="o")
PATIENCE = 5.0
"""Seconds after which a test that waits for an event gives up; none waits for a clock."""


def short_wait(seconds: float = 0.05):
    return plan(upload(0), Delay(1, "short", timedelta(seconds=seconds)), extract(2))


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


async def test_a_short_wait_ends_long_before_the_next_sweep():
    scene = Scene(short_wait())
    ended = asyncio.Event()
    scene.world.hooks["document.extract"] = ended.set
    async with scene.new_host(sweep_interval=timedelta(hours=1), clock=RealClock()) as host:
        assert isinstance(await host.run("document.process", ORDER), Suspended)
        await asyncio.wait_for(ended.wait(), PATIENCE)


async def test_an_instance_that_takes_long_keeps_no_other_from_its_turn():
    scene = Scene(short_wait(60))
    begun, release, seen = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def first_is_slow(request, ctx):
        if request.job_id == "job-slow":
            begun.set()
            await release.wait()
        else:
            seen.set()
        return Fields(count=1)

    host = scene.new_host(sweep_interval=timedelta(milliseconds=10), substitutes={"document.extract": first_is_slow})
    async with host:
        await host.run("document.process", Submit(document_id="slow"))
        scene.clock.advance(timedelta(seconds=60))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        await host.run("document.process", Submit(document_id="quick"))
        scene.clock.advance(timedelta(seconds=60))
        await asyncio.wait_for(seen.wait(), PATIENCE)
        release.set()


async def test_more_instances_than_a_node_takes_at_once_all_go_on():
    scene = Scene(short_wait(60))
    host = scene.new_host(concurrency=3)
    for number in range(10):
        await host.run("document.process", ORDER, idempotency_key=str(number))
    scene.clock.advance(timedelta(minutes=1))
    assert await host.sweep_once() == 10
    assert {entry.row.state for entry in scene.journal._entries.values()} == {State.COMPLETED}


class Unfit(FlowxError):
    """As where a table was renamed, or a password changed: no error that is known to pass by."""


async def test_leases_are_renewed_again_after_an_error_that_nobody_expected():
    scene = Scene(short_wait())
    errors = iter([Unfit("no such table"), RuntimeError("a defect"), JournalUnavailable("away")])
    renewed = asyncio.Event()

    async def renew(asked, **_):
        for error in errors:
            raise error
        renewed.set()
        return frozenset(asked)

    scene.journal.renew = renew
    held = {uuid4(): float("-inf")}
    renewal = Renewal(scene.journal, held, owner="node", lease_ttl=timedelta(milliseconds=1))
    running = asyncio.create_task(renewal.run())
    await asyncio.wait([running, waiting := asyncio.create_task(renewed.wait())], timeout=PATIENCE, return_when=FIRST)
    assert waiting.done()
    assert not running.done()
    running.cancel()


async def test_what_falls_due_between_two_sweeps_survives_an_error_that_nobody_expected():
    scene = Scene(short_wait())
    claim_due, errors = scene.journal.claim_due, iter([Unfit("no such table")])
    swept, failed, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    scene.world.hooks["document.extract"] = ended.set

    async def unfit(*, now, **arguments):
        swept.set()
        if scene.journal.commits:
            for error in errors:
                failed.set()
                raise error
        return await claim_due(now=now, **arguments)

    scene.journal.claim_due = unfit
    async with scene.new_host(sweep_interval=timedelta(seconds=0.3), clock=RealClock()) as host:
        await asyncio.wait_for(swept.wait(), PATIENCE)
        await host.run("document.process", ORDER)
        await asyncio.wait_for(ended.wait(), PATIENCE)
        assert failed.is_set()


async def test_a_sweep_survives_a_store_that_is_away_for_a_while():
    scene = Scene(short_wait(60))
    ended = asyncio.Event()
    scene.world.hooks["document.extract"] = ended.set
    claim_due, failures = scene.journal.claim_due, iter(range(3))

    async def away(**arguments):
        if next(failures, None) is not None:
            raise JournalUnavailable("away")
        return await claim_due(**arguments)

    scene.journal.claim_due = away
    async with scene.new_host(sweep_interval=timedelta(milliseconds=5)) as host:
        await host.run("document.process", ORDER)
        scene.clock.advance(timedelta(minutes=1))
        await asyncio.wait_for(ended.wait(), PATIENCE)


async def test_leases_of_long_runs_are_renewed_and_lost_ones_are_told(caplog):
    scene = Scene(short_wait())
    in_step, go_on = asyncio.Event(), asyncio.Event()

    async def long(request, ctx):
        in_step.set()
        await go_on.wait()
        return Job(job_id="j")

    host = scene.new_host(substitutes={"ocr.upload": long})
    run = asyncio.ensure_future(host.run("document.process", ORDER))
    await in_step.wait()
    instance_id = scene.only()
    old = {instance_id: float("-inf")}
    renewal = Renewal(scene.journal, old, owner=host._owner, lease_ttl=TTL)
    scene.clock.advance(TTL - timedelta(seconds=1))
    assert await renewal.renew_once() == frozenset()
    scene.clock.advance(timedelta(seconds=2))
    assert await scene.journal.live_leases(instance_id) == 1
    assert (
        await Renewal(scene.journal, {instance_id: float("inf")}, owner=host._owner, lease_ttl=TTL).renew_once()
        == set()
    )
    scene.clock.advance(TTL)
    assert await renewal.renew_once() == {instance_id}
    assert any("was lost" in record.getMessage() for record in caplog.records)
    go_on.set()
    await run


async def test_leaving_a_host_waits_for_everything_that_is_under_way():
    scene = Scene(plan(upload(0)))
    in_step = asyncio.Semaphore(0)
    gates = {"first": asyncio.Event(), "second": asyncio.Event()}

    async def long(request, ctx):
        in_step.release()
        await gates[request.document_id].wait()
        return Job(job_id="j")

    host = scene.new_host(substitutes={"ocr.upload": long})
    runs = {name: asyncio.ensure_future(host.run("document.process", Submit(document_id=name))) for name in gates}
    for _ in gates:
        await in_step.acquire()
    closing = asyncio.ensure_future(host.close())
    gates["first"].set()
    await runs["first"]
    for _ in range(5):
        await asyncio.sleep(0)
    assert not closing.done()
    gates["second"].set()
    await closing
    assert runs["second"].done()
