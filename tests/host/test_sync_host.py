"""The same host for code that does not await: from several threads, with the same outcomes and errors."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from engine_plans import (
    CLASSES,
    Fields,
    OcrCompleted,
    Signed,
    Submit,
    Upload,
    World,
    document_plan,
    plan,
    saga_plan,
    upload,
)

from flowx_runtime import Completed, Failed, MemoryJournal, PostgresJournal, Suspended, SyncFlowHost
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.capabilities import CapabilityMissing
from flowx_runtime.host.errors import HostClosed, NothingToRetry, UnknownInstance
from flowx_runtime.journal.contract import JournalUnavailable


def flowx_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "flowx host"]


def opened(*plans: Any, journal: Any = None, world: World | None = None) -> SyncFlowHost:
    used = {node.capability.target for p in plans for node in p.nodes if hasattr(node, "capability")}
    used |= {node.compensation.target for p in plans for node in p.nodes if getattr(node, "compensation", None)}
    capabilities = [cls(world or World()) for cls in CLASSES if cls in used]
    return SyncFlowHost(plans, capabilities, journal=journal or MemoryJournal())


def test_a_flow_parks_is_signalled_and_completes() -> None:
    with opened(document_plan()) as host:
        suspended = host.run("document.process", Submit(document_id="d"))
        assert isinstance(suspended, Suspended)
        host.signal(suspended.instance_id, OcrCompleted(job_id="j"))
        outcome = host.outcome(suspended.instance_id)
        assert isinstance(outcome, Completed)
        assert outcome.value.fields == 7
        assert host.resume(suspended.instance_id) == outcome
        assert host.inspect(suspended.instance_id).rows[-1].name == "document.processed"
    assert not flowx_threads()


def test_the_journal_is_opened_on_the_hosts_own_loop(postgres_dsn, schema) -> None:
    with opened(saga_plan(), journal=lambda: PostgresJournal.open(postgres_dsn, schema=schema)) as host:
        suspended = host.run("document.process", Submit(document_id="d"))
        host.signal(suspended.instance_id, Signed(by="ada"))
        assert [row.capability_id for row in host.inspect(suspended.instance_id).rows][-1] == "offer.archive"


def test_what_has_nothing_to_try_again_is_told() -> None:
    with opened(saga_plan()) as host:
        parked = host.run("document.process", Submit(document_id="o"))
        with pytest.raises(NothingToRetry):
            host.retry(parked.instance_id)


def test_a_flow_is_cancelled_and_replayed() -> None:
    with opened(saga_plan()) as host:
        suspended = host.run("document.process", Submit(document_id="d"))
        assert host.replay(suspended.instance_id).is_same
        outcome = host.cancel(suspended.instance_id, "no longer wanted")
        assert isinstance(outcome, Failed)
        assert outcome.error.detail == "no longer wanted"


def test_an_interrupt_that_a_capability_raises_itself_fails_its_step_and_the_host_goes_on() -> None:
    world = World()

    def interrupts() -> None:
        raise KeyboardInterrupt

    world.hooks["ocr.upload"] = interrupts
    with opened(plan(upload(0)), world=world) as host:
        outcome = host.run("document.process", Submit(document_id="d"))
        assert isinstance(outcome, Failed)
        assert outcome.error.code == "capability.unhandled"
        world.hooks.clear()
        assert isinstance(host.run("document.process", Submit(document_id="d")), Completed)


def test_many_threads_share_one_host() -> None:
    world = World(ready_after=10**6)
    with opened(document_plan(), world=world) as host, ThreadPoolExecutor(16) as pool:

        def whole(number: int) -> Any:
            suspended = host.run("document.process", Submit(document_id=str(number)), idempotency_key=str(number // 2))
            return suspended.instance_id

        started = list(pool.map(whole, [number // 2 * 2 for number in range(80)]))
        assert len(set(started)) == 40
        list(pool.map(lambda instance: host.signal(instance, OcrCompleted(job_id="j")), set(started)))
        outcomes = list(pool.map(host.outcome, set(started)))
    assert all(isinstance(outcome, Completed) for outcome in outcomes)


def test_errors_come_through_unchanged() -> None:
    world = World(raising={"ocr.upload": RuntimeError("no")})
    with opened(plan(upload()), world=world) as host:
        with pytest.raises(UnknownInstance, match="no instance"):
            host.outcome(uuid4())
        with pytest.raises(FlowxError, match="takes a Submit"):
            host.run("document.process", Fields(count=1))
        outcome = host.run("document.process", Submit(document_id="d"))
        assert isinstance(outcome, Failed)
        assert outcome.error.code == "capability.unhandled"


def test_a_host_that_cannot_open_leaves_no_thread_behind() -> None:
    with pytest.raises(CapabilityMissing):
        SyncFlowHost([plan(upload())], journal=MemoryJournal())

    async def unreachable() -> Any:
        raise JournalUnavailable("nobody there")

    with pytest.raises(JournalUnavailable, match="nobody there"):
        SyncFlowHost([plan(upload())], [Upload(World())], journal=unreachable)
    assert not flowx_threads()


def test_a_closed_host_says_so_and_closing_twice_is_harmless() -> None:
    host = opened(plan(upload()))
    host.close()
    host.close()
    with pytest.raises(HostClosed):
        host.run("document.process", Submit(document_id="d"))


def test_a_capability_that_calls_its_own_host_is_told_instead_of_waiting_for_ever() -> None:
    world = World()
    with opened(plan(upload()), world=world) as host:
        world.hooks["ocr.upload"] = lambda: host.outcome(uuid4())
        outcome = host.run("document.process", Submit(document_id="d"))
        assert isinstance(outcome, Failed)
        assert "must not wait for its own host" in outcome.error.detail


def test_leaving_by_an_error_closes_the_host() -> None:
    with pytest.raises(ZeroDivisionError), opened(plan(upload())):
        raise ZeroDivisionError
    assert not flowx_threads()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("call", ["run", "close"])
def test_a_host_that_was_made_before_a_fork_says_so_in_the_child(call: str) -> None:
    with opened(saga_plan()) as host:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(10)  # a child that hangs dies of it, and says nothing
            try:
                host.close() if call == "close" else host.run("document.process", Submit(document_id="d"))
            except FlowxError as refused:
                os.write(writing, f"{type(refused).__name__}: {refused}".encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as said:
            assert b"make the host after the fork" in said.read()
        os.waitpid(child, 0)
        assert isinstance(host.run("document.process", Submit(document_id="d")), Suspended)


def test_a_close_that_does_not_wait_gives_leases_back_before_it_closes_the_journal() -> None:
    told: list[str] = []
    begun = threading.Event()

    class Telling(MemoryJournal):
        async def release(self, *given: Any, **named: Any) -> None:
            told.append("released")
            return await super().release(*given, **named)

        async def close(self) -> None:
            told.append("closed")
            await super().close()

    async def never_ends(request: Any, ctx: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    host = SyncFlowHost(
        [plan(upload())],
        journal=Telling(),
        drain=timedelta(0),
        substitutes={"ocr.upload": never_ends, "ocr.cancel": never_ends},
    )
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(host.run, "document.process", Submit(document_id="d"))
        assert begun.wait(10)
        host.close()
        with pytest.raises(JournalUnavailable, match="this host was left"):
            run.result(10)
    assert told == ["released", "closed"]
