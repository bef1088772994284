"""The journals that events are published from."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.postgres.journal import PostgresJournal


@pytest.fixture
async def postgres(postgres_dsn: str, schema: str) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema, pool_size=8)
    yield journal
    await journal.close()


@pytest.fixture(params=["memory", "postgres"])
def journal(request: pytest.FixtureRequest) -> Journal:
    return MemoryJournal() if request.param == "memory" else request.getfixturevalue("postgres")
