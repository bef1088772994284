"""What the tests of several nodes share."""

from __future__ import annotations

import pytest

from tests.nodes.scene import Database


@pytest.fixture
def database(postgres_dsn: str, schema: str) -> Database:
    return Database(postgres_dsn, schema)
