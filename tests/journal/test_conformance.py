"""Every store keeps the whole contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import once_checks  # noqa: F401  # adds its checks to CHECKS
import outbox_checks  # noqa: F401  # adds its checks to CHECKS
import pause_checks  # noqa: F401  # adds its checks to CHECKS
import pytest
import setback_checks  # noqa: F401  # adds its checks to CHECKS
from journal_checks import CHECKS
from schedule_checks import SCHEDULE_CHECKS

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.memory import MemoryJournal
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.group_writer import Answer, GroupWriter, _Waiting, _Write
from flowx_runtime.journal.postgres.journal import PostgresJournal


class EvenLoneWritesInGroups(GroupWriter):
    """Sends as a group what would be sent by itself, so that both ways are held to the whole contract."""

    async def _write_alone(self, write: _Write, connections: Connections) -> Answer:
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        await self._send([_Waiting(write, answer)])
        return await answer or await super()._write_alone(replace(write, lone=lambda: None), connections)


@pytest.fixture(params=["memory", "postgres", "postgres in groups"])
async def journal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    if request.param == "postgres in groups":
        monkeypatch.setattr("flowx_runtime.journal.postgres.journal.GroupWriter", EvenLoneWritesInGroups)
    store = await PostgresJournal.open(
        request.getfixturevalue("postgres_dsn"), schema=request.getfixturevalue("schema"), pool_size=8
    )
    yield store
    await store.close()


ALL = CHECKS | SCHEDULE_CHECKS


@pytest.mark.parametrize("check", ALL.values(), ids=ALL.keys())
async def test_a_journal_keeps_its_promise(journal: Journal, check) -> None:
    await check(journal)
