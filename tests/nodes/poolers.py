"""What stands between a node and its server and shares sessions among its clients."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PORT = 6543
PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")


@asynccontextmanager
async def deaf(dsn: str, folder: Path) -> AsyncIterator[str]:
    """A proxy that brings no notification: whoever said LISTEN is not there any more when one comes."""
    parts = conninfo_to_dict(dsn)
    name = f".s.PGSQL.{parts.get('port', 5432)}"
    lines: set[asyncio.Task[None]] = set()

    async def serve(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(f"{parts['host']}/{name}")

        async def there() -> None:
            while data := await client.read(1 << 16):
                to_server.write(data)
            to_server.close()

        async def back() -> None:
            with suppress(asyncio.IncompleteReadError):
                while kind := await server.readexactly(1):
                    size = await server.readexactly(4)
                    body = await server.readexactly(struct.unpack("!I", size)[0] - 4)
                    if kind != b"A":
                        to_client.write(kind + size + body)
            to_client.close()

        task = asyncio.current_task()
        assert task is not None
        lines.add(task)
        with suppress(OSError):
            await asyncio.gather(there(), back())
        lines.discard(task)

    async with await asyncio.start_unix_server(serve, folder / name):
        yield make_conninfo(dsn, host=str(folder))
    for line in lines:
        line.cancel()


def _configured(dsn: str, folder: Path) -> list[str]:
    """Writes its configuration; gives the command. As root it must become the user that the server's socket is for."""
    parts = conninfo_to_dict(dsn)
    server = Path(str(parts["host"]))
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"""\
[databases]
* = host={server} port={parts.get("port", 5432)} user={parts["user"]}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {PORT}
auth_type = any
pool_mode = transaction
default_pool_size = 4
logfile = {folder}/log
"""
    )
    folder.chmod(0o777)
    return [str(PGBOUNCER), *(["-u", server.owner()] if os.geteuid() == 0 else []), str(config)]


@asynccontextmanager
async def pgbouncer(dsn: str, folder: Path) -> AsyncIterator[str]:
    """The real one, lending a session for a transaction."""
    command = _configured(dsn, folder)
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    through = make_conninfo(dsn, host=str(folder), port=PORT)
    try:
        for _ in range(200):
            assert process.returncode is None, (folder / "log").read_text()
            with suppress(psycopg.OperationalError):
                await (await psycopg.AsyncConnection.connect(through)).close()
                break
            await asyncio.sleep(0.05)
        yield through
    finally:
        process.kill()
        await process.wait()
