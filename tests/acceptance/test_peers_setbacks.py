"""Instances that cannot go on: cases users of other engines reported, by their number."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from flowx_runtime import Completed, Contract, MemoryJournal, PostgresJournal
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.plan import AwaitSignal, Delay
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import APPROVED, DAY, ORDER, Approved, Note, World, node, plan, step

RESTING = plan(step(0, "reserve"), Delay(1, "rest", DAY), step(2, "ship"))
SECRET = "WORDS-NOBODY-READS"


class Renamed(Contract):
    """What `Note` has become in a release that kept the flow's version."""

    wording: int


@pytest.fixture(params=["memory", "postgres"])
async def journal(request: pytest.FixtureRequest, database: Database) -> Any:
    if request.param == "memory":
        yield MemoryJournal()
        return
    opened = await PostgresJournal.open(database.dsn, schema=database.schema)
    yield opened
    await opened.close()


async def _parked_with_an_answer(database: Database, clock: VirtualClock, kept: dict[str, Any]) -> Any:
    world = World()

    async def answering(request: Any, ctx: Any) -> Note:
        return Note(text=SECRET)

    world.answers["reserve"] = answering
    async with node(database, clock, world, RESTING, **kept) as host:
        return (await host.run("order.place", ORDER)).instance_id


async def test_p07_what_no_longer_reads_is_tried_later_and_later_and_says_why(
    database: Database, clock: VirtualClock, journal: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kept = {"journal": journal} if isinstance(journal, MemoryJournal) else {}
    parked = await _parked_with_an_answer(database, clock, kept)
    changed = plan(step(0, "reserve", gives=Renamed), Delay(1, "rest", DAY), step(2, "ship"))
    clock.advance(DAY)
    async with node(database, clock, World(), changed, owner="worker/7", **kept) as host:
        for _ in range(5):
            assert await host.sweep_once() <= 1
        (setback,) = await journal.setbacks([parked])
        assert setback.times == 1, "no hot loop: it is left alone for a while"
        clock.advance(timedelta(seconds=11))
        database.expire_leases() if not kept else _expire(journal)
        await host.sweep_once()
        (setback,) = await journal.setbacks([parked])
    assert (setback.code, setback.node.startswith("worker/7"), setback.times) == ("instance.unreadable", True, 2)
    assert setback.detail.startswith("a stored value is no Renamed any more")
    assert "wording (missing)" in setback.detail
    assert SECRET not in setback.detail
    assert "could not go on" in caplog.text
    assert SECRET not in caplog.text

    database.expire_leases() if not kept else _expire(journal)
    world = World()
    async with node(database, clock, world, RESTING, **kept) as mended:
        await mended.sweep_once()
        assert isinstance(await mended.outcome(parked), Completed)
    assert list(await journal.setbacks([parked])) == []


def _expire(journal: MemoryJournal) -> None:
    for entry in journal._entries.values():
        journal._release(entry)


class NoKey(FlowxError):
    """A key is missing."""

    code = "key.missing"


@pytest.mark.parametrize(
    ("error", "code", "detail"),
    [
        (NoKey("give the host the key 2026-12"), "key.missing", "give the host the key 2026-12"),
        (KeyError(SECRET), "instance.cannot_go_on", "KeyError at test_peers_setbacks.py:"),
    ],
)
async def test_p07_what_stands_in_the_way_is_named_without_what_it_was_given(
    database: Database, clock: VirtualClock, error: Exception, code: str, detail: str
) -> None:
    waiting = plan(AwaitSignal(0, "approved", APPROVED, DAY), step(1, "ship"))
    store = MemoryJournal()
    async with node(database, clock, World(), waiting, journal=store) as host:
        parked = (await host.run("order.place", ORDER)).instance_id
        await store.pause("order.place")
        await host.signal(parked, Approved(by="ada"))
        await store.unpause("order.place")

        async def broken(*_: Any, **__: Any) -> Any:
            raise error

        host._engine.proceed = broken  # type: ignore[method-assign]
        await host.sweep_once()
        (setback,) = await store.setbacks([parked])
    assert setback.code == code
    assert setback.detail.startswith(detail)
    assert SECRET not in setback.detail
