"""A socket in front of a PostgreSQL server that counts how often a client waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_ENDS_A_TRIP = frozenset(b"QS")
"""A simple query, and the Sync behind an extended one: what the server answers with "ready"."""


class RoundTrips:
    """How many there were, on all connections."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        """Connects through the counting socket."""
        self.count = 0

    async def upstream(self, given: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = conninfo_to_dict(given)
        host, port = str(address.get("host", "localhost")), address.get("port") or 5432
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, int(port))

    async def count_requests(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        """Pass on what a client says, message by message; the first has no type."""
        try:
            length = await client.readexactly(4)
            server.write(length + await client.readexactly(int.from_bytes(length) - 4))
            while True:
                head = await client.readexactly(5)
                body = await client.readexactly(int.from_bytes(head[1:]) - 4)
                self.count += head[0] in _ENDS_A_TRIP
                server.write(head + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            server.close()


@asynccontextmanager
async def counted(dsn: str, folder: Path) -> AsyncIterator[RoundTrips]:
    """Count the round trips of whoever connects to `dsn` of what this gives."""
    trips = RoundTrips(make_conninfo(dsn, host=str(folder), port=5432, sslmode="disable"))
    talks: set[asyncio.Task[None]] = set()

    async def talk(client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        reader, writer = await trips.upstream(dsn)
        asked = asyncio.create_task(trips.count_requests(client, writer))
        talks.add(asked)
        while data := await reader.read(65536):
            answers.write(data)
        answers.close()
        await asked

    server = await asyncio.start_unix_server(talk, folder / ".s.PGSQL.5432")
    async with server:
        yield trips
