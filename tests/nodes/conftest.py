"""What the tests of several nodes share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.nodes.scene import Database, Process


@pytest.fixture
def database(postgres_dsn: str, schema: str) -> Database:
    return Database(postgres_dsn, schema)


@pytest_asyncio.fixture(autouse=True)
async def leaves_no_process() -> AsyncIterator[None]:
    """Whatever a test has started ends with it."""
    yield
    while Process.started:
        await Process.started.pop().end()
