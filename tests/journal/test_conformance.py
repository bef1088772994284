"""Every store keeps the whole contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from journal_checks import CHECKS

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.memory import MemoryJournal
from flowx_runtime.journal.postgres.journal import PostgresJournal


@pytest.fixture(params=["memory", "postgres"])
async def journal(request: pytest.FixtureRequest) -> AsyncIterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    store = await PostgresJournal.open(
        request.getfixturevalue("postgres_dsn"), schema=request.getfixturevalue("schema"), pool_size=8
    )
    yield store
    await store.close()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
async def test_a_journal_keeps_its_promise(journal: Journal, check) -> None:
    await check(journal)
