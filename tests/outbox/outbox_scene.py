"""Journals with staged events, and publishers that remember, refuse and fail where a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID, uuid4

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Commit, Committed, NewInstance, StagedEvent
from flowx_runtime.outbox.drain import Drain
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.publisher import PublisherUnavailable, PublishRefused
from flowx_runtime.outbox.settings import Publishing

SOON = timedelta(milliseconds=1)
LONG = timedelta(hours=1)
PROMPT = Publishing(interval=timedelta(milliseconds=20), backoff=Backoff.fixed(SOON), max_refusals=3)
PATIENT = Publishing(interval=timedelta(milliseconds=20), backoff=Backoff.fixed(LONG), max_refusals=3)


def staged_event(n: int, payload: object = None) -> StagedEvent:
    text = json.dumps({"n": n} if payload is None else payload)
    return StagedEvent(uuid4(), "order.paid", "1.0.0", text, "key")


async def stage(journal: Journal, count: int = 1, *, commits: int = 1, correlation_id: str = "") -> UUID:
    """An instance with `count` events, numbered from 0 in its commits."""
    instance = NewInstance(uuid4(), "shop.order", "1.0.0", "digest", "{}", correlation_id=correlation_id)
    started = await journal.start(instance, owner="a", ttl=LONG)
    assert started.lease is not None
    numbers = list(range(count))
    for part in range(commits):
        events = tuple(staged_event(n) for n in numbers[part * count // commits : (part + 1) * count // commits])
        answer = await journal.commit(Commit(instance.instance_id, 1, events=events))
        assert isinstance(answer, Committed), answer
    return instance.instance_id


async def stage_many(journal: Journal, instances: int, count: int) -> list[UUID]:
    return list(await asyncio.gather(*(stage(journal, count) for _ in range(instances))))


class Remembering:
    """Takes events, and first does what a test wants to happen meanwhile."""

    def __init__(self, meanwhile: Callable[[Envelope], Awaitable[None]] | None = None) -> None:
        self.taken: list[Envelope] = []
        self.closed = 0
        self._meanwhile = meanwhile

    async def publish(self, envelope: Envelope) -> None:
        if self._meanwhile is not None:
            await self._meanwhile(envelope)
        self.taken.append(envelope)

    async def close(self) -> None:
        self.closed += 1

    def numbers(self, instance_id: UUID) -> list[int]:
        return [number_of(envelope) for envelope in self.taken if envelope.instance_id == instance_id]


def number_of(envelope: Envelope) -> int:
    return int(json.loads(envelope.payload)["n"])


def refusing(*numbers: int) -> Remembering:
    async def refuse(envelope: Envelope) -> None:
        if number_of(envelope) in numbers:
            raise PublishRefused("not this one")

    return Remembering(refuse)


class Switch:
    """A receiver that is there or not."""

    def __init__(self) -> None:
        self.is_there = True
        self.asked = 0

    async def __call__(self, envelope: Envelope) -> None:
        self.asked += 1
        if not self.is_there:
            raise PublisherUnavailable("nobody is there")


def drain(journal: Journal, publisher: object, settings: Publishing = PROMPT, owner: str = "node") -> Drain:
    return Drain(journal, publisher, owner=owner, settings=settings)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool], *, work: Callable[[], Awaitable[object]], passes: int = 2000) -> None:
    for _ in range(passes):
        if condition():
            return
        await work()
        await asyncio.sleep(0.002)
    raise AssertionError("it never came about")
