"""A host with a publisher: from the commit of a step to the receiver."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from outbox_scene import PROMPT, Remembering, until

from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.host.errors import DurabilityNotConfigured
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.sync_host import SyncFlowHost
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.jsonl import JsonlPublisher
from flowx_runtime.outbox.settings import PublishCounts

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
from engine_scene import Crash, Scene
from secret_plans import CANARIES, Approved, application, secret_plan

RING = KeyRing({"k1": bytes(32)}, current="k1")
APPROVED = Approved(by="CANARY-boss", code=918273645)


def host(journal: object, publisher: object, **settings: Any) -> FlowHost:
    # Without sweeps, the run that delivers a signal goes on with its values; a sweep has what is stored of them.
    facts = {"publishing": PROMPT, "sweep_interval": None}
    return FlowHost([secret_plan()], journal=journal, publisher=publisher, **(facts | settings))  # type: ignore[arg-type]


async def run_to_its_event(running: FlowHost) -> None:
    suspended = await running.run("account.open", application(), correlation_id="c-1")
    await running.signal(suspended.instance_id, APPROVED)


@pytest.mark.parametrize("ring", [None, RING], ids=["redacting", "sealing"])
async def test_p52_sensitive_members_never_leave_in_an_event(journal, tmp_path, ring) -> None:
    path = tmp_path / "events.jsonl"
    async with host(journal, JsonlPublisher(path), key_ring=ring) as running:
        await run_to_its_event(running)
    (document,) = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert document["type"] == "account.opened"
    assert document["data"] == {"number": "7", "card": "[redacted]", "pin": "[redacted]"}
    assert not [canary for canary in CANARIES if canary in path.read_text("utf-8")]
    assert "flowx.sealed" not in path.read_text("utf-8")


async def test_a_host_publishes_while_it_is_entered_and_closes_its_publisher_when_left(journal) -> None:
    publisher = Remembering()
    async with host(journal, publisher) as running:
        await run_to_its_event(running)
        await until(lambda: bool(publisher.taken), work=lambda: asyncio.sleep(0.01))
        assert publisher.closed == 0
    assert running.publish_counts == PublishCounts(published=1)
    assert publisher.closed == 1
    assert publisher.taken[0].correlation_id == "c-1"


async def test_what_is_staged_when_a_host_is_left_is_published_first(journal) -> None:
    publisher = Remembering()
    seldom = replace(PROMPT, interval=timedelta(hours=1))
    async with host(journal, publisher, publishing=seldom) as running:
        await run_to_its_event(running)
    assert [envelope.type for envelope in publisher.taken] == ["account.opened"]


async def test_a_publisher_that_hangs_is_left_behind_when_the_drain_time_is_over(journal, caplog) -> None:
    is_asked = asyncio.Event()

    async def hangs(_: Envelope) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    publisher = Remembering(hangs)
    kept_open = journal.close
    journal.close = _nothing
    # With a key ring, for the run itself may be what is left as well, and gone on with by the next host.
    async with host(journal, publisher, key_ring=RING, drain=timedelta(milliseconds=50)) as running:
        await run_to_its_event(running)
        await is_asked.wait()
    assert "left before all events were published" in caplog.text
    assert publisher.closed == 1
    taking = Remembering()
    journal.close = kept_open
    async with host(journal, taking, key_ring=RING):
        await until(lambda: bool(taking.taken), work=lambda: asyncio.sleep(0.01))
    assert [envelope.type for envelope in taking.taken] == ["account.opened"]


async def _nothing() -> None:
    return None


async def test_without_a_publisher_events_stay_staged() -> None:
    journal = MemoryJournal()
    async with host(journal, None) as running:
        await run_to_its_event(running)
        assert await running.publish_once() == 0
        assert running.publish_counts == PublishCounts()
    publisher = Remembering()
    assert await host(journal, publisher).publish_once() == 1


def test_a_publisher_without_a_journal_is_refused() -> None:
    with pytest.raises(DurabilityNotConfigured):
        FlowHost([], publisher=Remembering())


def test_the_host_for_code_that_does_not_await_publishes_too(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    with SyncFlowHost([secret_plan()], journal=MemoryJournal(), publisher=JsonlPublisher(path)) as running:
        suspended = running.run("account.open", application())
        running.signal(suspended.instance_id, APPROVED)
    assert len(path.read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
async def test_p32_an_event_is_seen_only_with_the_commit_of_what_emitted_it_and_once(number, point) -> None:
    scene = Scene(secret_plan())
    getattr(scene.journal, f"crash_{point}").add(number)
    publisher = Remembering()
    for _ in range(3):
        with suppress(Crash):
            running = scene.new_host(key_ring=RING, publisher=publisher, publishing=PROMPT)
            if not scene.journal._entries:
                await running.run("account.open", application())
            else:
                await scene.recover(key_ring=RING, publisher=publisher, publishing=PROMPT)
            if not publisher.taken and (await scene.history()).instance.waits:
                await running.signal(scene.only(), APPROVED)
        await running.publish_once()
        committed = [event.event_id for event in await scene.journal.events(scene.only())]
        assert [envelope.event_id for envelope in publisher.taken] == committed
    assert [envelope.type for envelope in publisher.taken] == ["account.opened"]
