"""What every area's tests share: one PostgreSQL server per worker process, one schema per test."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

from tests.servers import open_folder

# How long an example takes depends on what else the machine does, and is no property of what is tested.
settings.register_profile("flowx", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("flowx")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # Started in the background, a shell makes us ignore interrupts. The processes that tests interrupt inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """A server to test on: `FLOWX_DSN` where it is set, else an embedded one for this worker process alone."""
    given = os.environ.get("FLOWX_DSN")
    if given:
        yield given
        return
    from flowx_runtime.journal.postgres.embedded import EmbeddedServer

    # Nothing here outlives the tests, so nothing has to reach the disk.
    settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
    with EmbeddedServer(settings=settings) as server:
        yield server.dsn


@pytest.fixture(name="open_folder")
def _open_folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def schema(postgres_dsn: str) -> Iterator[str]:
    """The name of a schema of the test's own; whatever the test makes under it is dropped afterwards."""
    name = f"test_{uuid4().hex}"
    yield name
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(name)))
