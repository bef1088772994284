"""One node publishes: order, tries, what is set aside, and what happens while nobody takes anything."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from outbox_scene import (
    LONG,
    PATIENT,
    PROMPT,
    SOON,
    Remembering,
    Switch,
    drain,
    number_of,
    refusing,
    stage,
    stage_many,
    until,
)

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.loop import PublishingLoop
from flowx_runtime.outbox.publisher import PublisherUnavailable
from flowx_runtime.outbox.settings import PublishCounts, Publishing
from flowx_runtime.outbox.settling import Settling


async def test_events_leave_in_order_and_once(journal) -> None:
    instances = [await stage(journal, 6, commits=3) for _ in range(5)]
    publisher = Remembering()
    draining = drain(journal, publisher)
    assert await draining.drain_once() == 30
    for instance_id in instances:
        assert publisher.numbers(instance_id) == [0, 1, 2, 3, 4, 5]
    assert await draining.drain_once() == 0
    assert draining.counts == PublishCounts(published=30)


async def test_an_envelope_says_what_it_is_and_where_it_belongs(journal) -> None:
    before = await journal.now()
    instance_id = await stage(journal, 2, correlation_id="c-1")
    publisher = Remembering()
    await drain(journal, publisher).drain_once()
    first, second = publisher.taken
    (staged, _) = await journal.events(instance_id)
    assert (first.event_id, first.type, first.version, first.payload) == (
        staged.event_id,
        "order.paid",
        "1.0.0",
        '{"n": 0}',
    )
    assert (first.instance_id, first.partition_key, first.flow_id) == (instance_id, str(instance_id), "shop.order")
    assert first.correlation_id == "c-1"
    assert first.sequence < second.sequence
    assert before <= first.occurred_at <= await journal.now()


async def test_more_events_than_a_claim_gives_all_leave_in_order(journal) -> None:
    long_one, short_one = await stage(journal, 40), await stage(journal, 3)
    publisher = Remembering()
    settings = replace(PROMPT, batch=10, per_instance=4, concurrency=2)
    assert await drain(journal, publisher, settings).drain_once() == 43
    assert publisher.numbers(long_one) == list(range(40))
    assert publisher.numbers(short_one) == [0, 1, 2]
    last_of_short = max(n for n, envelope in enumerate(publisher.taken) if envelope.instance_id == short_one)
    assert last_of_short < 20, "an instance with many events kept another one waiting"


async def test_a_poison_event_is_set_aside_and_stops_nobody(journal, caplog) -> None:
    bad, good = await stage(journal, 4), await stage(journal, 1)
    publisher = refusing(1)
    draining = drain(journal, publisher)
    await until(lambda: len(publisher.taken) == 4, work=draining.drain_once)
    assert publisher.numbers(bad) == [0, 2, 3]
    assert publisher.numbers(good) == [0]
    (found,) = await journal.poisoned_events()
    assert (found.instance_id, found.attempts) == (bad, 3)
    assert found.last_error == "PublishRefused: not this one"
    assert draining.counts == PublishCounts(published=4, failed=3, poisoned=1)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert str(found.event.event_id) in record.getMessage()


async def test_events_behind_one_that_waits_for_another_try_wait_as_well(journal) -> None:
    bad, good = await stage(journal, 3), await stage(journal, 1)
    publisher = refusing(1)
    draining = drain(journal, publisher, PATIENT)
    await draining.drain_once()
    await draining.drain_once()
    assert publisher.numbers(bad) == [0]
    assert publisher.numbers(good) == [0]
    assert draining.counts.failed == 1
    assert list(await journal.poisoned_events()) == []


async def test_tries_are_kept_with_the_event_and_not_in_the_process(journal) -> None:
    await stage(journal, 2)
    publisher = refusing(0)
    counts = []
    for n in range(4):
        draining = drain(journal, publisher, replace(PROMPT, max_refusals=2), owner=f"node {n}")
        if n == 0:
            draining = drain(journal, publisher, replace(PATIENT, max_refusals=2, backoff=Backoff.fixed(SOON)))
        await asyncio.sleep(0.005)
        await draining.drain_once()
        counts.append(draining.counts)
    assert sum(each.failed for each in counts) == 2
    assert sum(each.poisoned for each in counts) == 1
    assert [number_of(envelope) for envelope in publisher.taken] == [1]


async def test_a_poisoned_event_that_is_retried_is_published(journal) -> None:
    bad = await stage(journal, 1)
    publisher = refusing(0)
    await until(lambda: refused.counts.poisoned == 1, work=(refused := drain(journal, publisher)).drain_once)
    (found,) = await journal.poisoned_events()
    assert await journal.retry_poisoned(bad, [found.event.event_id]) == 1
    taking = Remembering()
    assert await drain(journal, taking).drain_once() == 1
    assert taking.numbers(bad) == [0]


@pytest.mark.parametrize("error", [PublisherUnavailable("away"), TimeoutError(), ConnectionResetError("reset")])
async def test_nobody_being_there_never_sets_an_event_aside(journal, error) -> None:
    instance_id = await stage(journal, 1)
    tries = 0

    async def is_away(_: Envelope) -> None:
        nonlocal tries
        tries += 1
        if tries <= 10:
            raise error

    publisher = Remembering(is_away)
    draining = drain(journal, publisher, replace(PROMPT, max_refusals=2))
    await until(lambda: bool(publisher.taken), work=draining.drain_once)
    assert publisher.numbers(instance_id) == [0]
    assert draining.counts == PublishCounts(published=1, failed=10)


async def test_an_error_that_nobody_foresaw_counts_as_a_refusal(journal) -> None:
    await stage(journal, 1)

    async def breaks(_: Envelope) -> None:
        raise ValueError("a bug in the publisher \x00")

    draining = drain(journal, Remembering(breaks))
    await until(lambda: draining.counts.poisoned == 1, work=draining.drain_once)
    (found,) = await journal.poisoned_events()
    assert found.last_error.startswith("ValueError: a bug in the publisher")


async def test_the_gap_doubles_with_every_try_and_is_longer_where_the_receiver_asks_for_it() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    asked = iter([None, None, timedelta(seconds=90)])

    async def is_away(_: Envelope) -> None:
        raise PublisherUnavailable("away", retry_after=next(asked))

    settings = Publishing(backoff=Backoff.exponential("PT10S", "PT5M"))
    gaps = []
    for _ in range(3):
        await drain(journal, Remembering(is_away), settings).drain_once()
        (event,) = journal._queues[instance_id].events.values()
        gaps.append(event.next_attempt_at - await journal.now())
        event.next_attempt_at = await journal.now()
    for gap, expected in zip(gaps, (10, 20, 90), strict=True):
        assert timedelta(seconds=expected - 2) < gap <= timedelta(seconds=expected)


async def test_a_publish_that_takes_too_long_is_a_failed_try_and_holds_up_no_other_instance(journal) -> None:
    slow, quick = await stage(journal, 1), await stage(journal, 3)

    async def hangs(envelope: Envelope) -> None:
        if envelope.instance_id == slow:
            await asyncio.Event().wait()

    publisher = Remembering(hangs)
    settings = replace(PATIENT, timeout=timedelta(milliseconds=50), claim_ttl=timedelta(seconds=5))
    draining = drain(journal, publisher, settings)
    await draining.drain_once()
    assert publisher.numbers(quick) == [0, 1, 2]
    assert publisher.numbers(slow) == []
    assert draining.counts == PublishCounts(published=3, failed=1)


async def test_no_publish_begins_that_could_outlast_its_claim() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 4)
    now = 0.0

    async def takes_its_time(_: Envelope) -> None:
        nonlocal now
        now += 9.0

    publisher = Remembering(takes_its_time)
    claims = []
    original = journal.claim_events

    async def counting(**terms: object) -> object:
        claims.append(now)
        return await original(**terms)  # type: ignore[arg-type]

    journal.claim_events = counting  # type: ignore[method-assign, assignment]
    draining = drain(journal, publisher, Publishing(claim_ttl=timedelta(seconds=30), timeout=timedelta(seconds=10)))
    draining._monotonic = lambda: now
    await draining.drain_once()
    assert publisher.numbers(instance_id) == [0, 1, 2, 3]
    assert claims[:2] == [0.0, 27.0], "three publishes of nine seconds are begun within twenty, then it is claimed anew"


async def test_while_nobody_is_there_few_events_are_tried_and_all_leave_when_somebody_is_back(journal) -> None:
    switch = Switch()
    switch.is_there = False
    publisher = Remembering(switch)
    instances = await stage_many(journal, 60, 1)
    settings = replace(PROMPT, concurrency=4, backoff=Backoff.fixed(timedelta(milliseconds=30)))
    draining = drain(journal, publisher, settings)
    await draining.drain_once()
    assert switch.asked <= 8, "a dozen tries tell as much as sixty"
    stopping = asyncio.Event()
    running = asyncio.create_task(draining.run(stopping))
    await until(lambda: switch.asked >= 10, work=lambda: asyncio.sleep(0.01))
    switch.is_there = True
    await until(lambda: len(publisher.taken) == 60, work=lambda: asyncio.sleep(0.01))
    stopping.set()
    await running
    assert {envelope.instance_id for envelope in publisher.taken} == set(instances)
    assert draining.counts.poisoned == 0


async def test_an_event_that_brings_the_receiver_down_each_time_keeps_no_other_instance_waiting() -> None:
    journal = MemoryJournal()
    bad = await stage(journal, 1)

    async def goes_down(envelope: Envelope) -> None:
        if envelope.instance_id == bad:
            raise PublisherUnavailable("answered 500")

    publisher = Remembering(goes_down)
    draining = drain(journal, publisher, replace(PROMPT, concurrency=2))
    await until(lambda: draining.counts.failed > 10, work=draining.drain_once)
    assert not draining._is_down
    good = await stage(journal, 3)
    await draining.drain_once()
    assert publisher.numbers(good) == [0, 1, 2]


async def test_the_loop_publishes_what_comes_and_closes_its_publisher(journal) -> None:
    publisher = Remembering()
    draining = drain(journal, publisher)
    stopping = asyncio.Event()
    running = asyncio.create_task(draining.run(stopping))
    first = await stage(journal, 2)
    await until(lambda: len(publisher.taken) == 2, work=lambda: asyncio.sleep(0.01))
    second = await stage(journal, 2)
    stopping.set()
    await running
    assert publisher.numbers(first) == publisher.numbers(second) == [0, 1], "what was staged before the end leaves"
    assert publisher.closed == 1


@pytest.mark.parametrize("error", [JournalUnavailable("away"), RuntimeError("a bug")])
async def test_the_loop_outlives_a_journal_that_cannot_be_asked(error, caplog) -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 2)
    failures = iter([error, error])
    claiming, settling = journal.claim_events, journal.settle_events

    async def claim(**terms: object) -> object:
        for failure in failures:
            raise failure
        return await claiming(**terms)  # type: ignore[arg-type]

    unheard = iter([error])

    async def settle(settlement: object) -> None:
        for failure in unheard:
            raise failure
        await settling(settlement)  # type: ignore[arg-type]

    journal.claim_events, journal.settle_events = claim, settle  # type: ignore[method-assign, assignment]
    publisher = Remembering()
    stopping = asyncio.Event()
    running = asyncio.create_task(drain(journal, publisher).run(stopping))
    await until(lambda: len(publisher.taken) == 2, work=lambda: asyncio.sleep(0.01))
    stopping.set()
    await running
    assert publisher.numbers(instance_id) == [0, 1]
    assert not journal._owes_an_event(instance_id), "what was published is noted when the journal is back"
    assert "trying again" in caplog.text or "the next one comes" in caplog.text


async def test_leaving_does_not_wait_for_what_others_go_on_staging() -> None:
    journal = MemoryJournal()
    await stage(journal, 1)

    async def stages_another(_: Envelope) -> None:
        await asyncio.sleep(0.001)
        await stage(journal, 1)

    publisher = Remembering(stages_another)
    stopping = asyncio.Event()
    stopping.set()
    await drain(journal, publisher).run(stopping)
    assert 1 <= len(publisher.taken) < 5


async def test_a_node_that_is_stopped_at_once_notes_what_it_published_and_gives_the_rest_back(journal) -> None:
    instance_id = await stage(journal, 3)
    hanging = asyncio.Event()

    async def hangs(envelope: Envelope) -> None:
        if number_of(envelope) == 1:
            hanging.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(drain(journal, Remembering(hangs)).run(asyncio.Event()))
    await hanging.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    publisher = Remembering()
    assert await drain(journal, publisher).drain_once() == 2
    assert publisher.numbers(instance_id) == [1, 2]


def test_settings_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit twice"):
        Publishing(timeout=LONG)
    with pytest.raises(ValueError, match="`batch`"):
        Publishing(batch=0)


async def test_waiting_for_what_is_noted_ends_also_in_the_very_turn_in_which_it_was_written() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    (event,) = await journal.events(instance_id)
    settling = Settling(journal)
    for _ in range(3):
        settling.published(instance_id, event.event_id)
        writer = settling._writer
        assert writer is not None
        while not writer.done():
            await asyncio.sleep(0)
            if writer.done():
                await settling.flush()
    assert not journal._owes_an_event(instance_id)


class Panic(BaseException):
    """As some libraries raise for a fault of their own."""


class Unsayable(Exception):
    def __str__(self) -> str:
        raise LookupError


async def _cancels_itself(_: Envelope) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def _says_nothing(_: Envelope) -> None:
    raise Unsayable


@pytest.mark.parametrize("publish", [_cancels_itself, _says_nothing])
async def test_a_publisher_that_cannot_even_fail_is_tried_no_more_often_than_another(journal, publish) -> None:
    instance_id = await stage(journal)
    asked = 0

    async def counted(envelope: Envelope) -> None:
        nonlocal asked
        asked += 1
        await publish(envelope)

    draining = drain(journal, Remembering(counted), PATIENT)
    for _ in range(5):
        await draining.drain_once()
    assert (asked, draining.counts.failed) == (1, 1)
    assert await journal.live_leases(instance_id) == 1
    settled = drain(journal, Remembering(counted), PROMPT)
    assert await settled.drain_once() == 0


@pytest.mark.parametrize("escaping", [asyncio.CancelledError, GeneratorExit, SystemExit, Panic])
async def test_what_a_publisher_lets_out_though_nobody_cancels_it_counts_as_a_refusal(journal, escaping) -> None:
    async def let_out(envelope: Envelope) -> None:
        if number_of(envelope) == 0:
            raise escaping

    instance_id = await stage(journal, 2)
    publisher = Remembering(let_out)
    draining = drain(journal, publisher)
    await until(lambda: publisher.numbers(instance_id) == [1], work=draining.drain_once)
    assert draining.counts == PublishCounts(published=1, failed=3, poisoned=1)
    (poisoned,) = await journal.poisoned_events()
    assert poisoned.last_error == f"RuntimeError: the publisher let {escaping.__name__} out"


@pytest.mark.parametrize("way", ["publish", "close"])
async def test_a_publisher_that_does_not_stop_keeps_nobody_from_leaving(journal, monkeypatch, caplog, way) -> None:
    monkeypatch.setattr("flowx_runtime.outbox.drain._LAST_WORDS", 0.05)
    begun, go_on = asyncio.Event(), asyncio.Event()

    class Deaf:
        async def publish(self, envelope: Envelope) -> None:
            begun.set()
            if way == "publish":
                await hang()

        async def close(self) -> None:
            if way == "close":
                await hang()

    async def hang() -> None:
        while not go_on.is_set():
            with suppress(asyncio.CancelledError):
                await go_on.wait()

    await stage(journal, 1)
    publishing = PublishingLoop(drain(journal, Deaf()))
    publishing.begin()
    await begun.wait()
    await asyncio.wait_for(publishing.end(within=timedelta(seconds=0.05)), 5)
    go_on.set()
    assert "left though" in caplog.text
    assert "Deaf" in caplog.text
