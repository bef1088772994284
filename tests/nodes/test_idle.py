"""What a node with nothing to do costs its database."""

from __future__ import annotations

import asyncio
import struct
import tempfile
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from flowx_runtime.journal.postgres.presence import Watching
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.settings import Publishing
from tests.nodes.scene import Database, node

LOOKED_AT = 12.0
"""Seconds: a whole turn of everything that comes round."""


class Counter:
    """A proxy that counts the statements that pass: each ends with a Sync, or is a simple query."""

    def __init__(self, dsn: str, folder: Path) -> None:
        parts = conninfo_to_dict(dsn)
        self._name = f".s.PGSQL.{parts.get('port', 5432)}"
        self._target = f"{parts['host']}/{self._name}"
        self._folder = folder
        self.dsn = make_conninfo(dsn, host=str(folder))
        self.count = 0

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_unix_server(self._serve, self._folder / self._name)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(self._target)

        async def there() -> None:
            with suppress(asyncio.IncompleteReadError):
                size = await client.readexactly(4)  # the greeting has no kind
                to_server.write(size + await client.readexactly(struct.unpack("!I", size)[0] - 4))
                while kind := await client.readexactly(1):
                    size = await client.readexactly(4)
                    to_server.write(kind + size + await client.readexactly(struct.unpack("!I", size)[0] - 4))
                    self.count += kind in b"QS"
            to_server.close()

        async def back() -> None:
            while data := await server.read(1 << 16):
                to_client.write(data)
            to_client.close()

        with suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(there(), back())


class Publisher:
    async def publish(self, _: Envelope) -> None: ...


@pytest.mark.slow  # looks on for a whole turn
async def test_p36_an_idle_worker_asks_at_most_once_a_second(database: Database) -> None:
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as folder:
        counter = Counter(database.dsn, Path(folder))
        server = await counter.serve()
        as_a_worker = {
            "sweep_interval": timedelta(seconds=10),
            "publisher": Publisher(),
            "publishing": Publishing(interval=timedelta(seconds=10)),
            "watching": Watching(),
            "direct": database.dsn,
        }
        async with await node(counter.dsn, database.schema, **as_a_worker):
            await database.are_present(1)
            await asyncio.sleep(1)  # what it does once
            before, since = counter.count, time.monotonic()
            await asyncio.sleep(LOOKED_AT)
            asked, seconds = counter.count - before, time.monotonic() - since
        server.close()
    assert 1 <= asked <= seconds
