"""A wire between a journal and its server that can be cut at a chosen message."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal

from psycopg.conninfo import conninfo_to_dict, make_conninfo

Cut = Literal["on the way there", "on the way back"]
"""The request is lost and nothing was done; or it was carried out and the answer is lost."""


class Wire:
    """Forwards a Unix socket. `dsn` leads through it."""

    def __init__(self, dsn: str, folder: Path) -> None:
        parts = conninfo_to_dict(dsn)
        port = parts.get("port", 5432)
        self._target = f"{parts['host']}/.s.PGSQL.{port}"
        self._path = str(folder / f".s.PGSQL.{port}")
        self.dsn = make_conninfo(dsn, host=str(folder))
        self._ends: set[asyncio.StreamWriter] = set()
        self._cut: Cut | None = None
        self._skip = 0
        self._is_down = False

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_unix_server(self._forward, self._path)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._hang_up()

    def cut(self, where: Cut, *, after: int = 0) -> None:
        """Cut the connection of the next request, or of one that comes `after` so many; once."""
        self._cut, self._skip = where, after

    @property
    def was_cut(self) -> bool:
        return self._cut is None

    def go_down(self) -> None:
        """Cut everything, and let nothing through until `come_up`."""
        self._is_down = True
        self._hang_up()

    def come_up(self) -> None:
        self._is_down = False

    def _hang_up(self) -> None:
        for end in self._ends:
            end.close()

    async def _forward(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._ends.add(to_client)
        if self._is_down:
            to_client.close()
            return
        server, to_server = await asyncio.open_unix_connection(self._target)
        self._ends.add(to_server)
        loses_answer = asyncio.Event()

        def end() -> None:
            to_client.close()
            to_server.close()

        async def there() -> None:
            while data := await client.read(1 << 16):
                if self._cut is not None and not _is_greeting(data):
                    if self._skip:
                        self._skip -= 1
                    else:
                        where, self._cut = self._cut, None
                        if where == "on the way there":
                            break
                        loses_answer.set()
                to_server.write(data)
            end()

        async def back() -> None:
            while data := await server.read(1 << 16):
                if loses_answer.is_set():
                    break
                to_client.write(data)
            end()

        with suppress(OSError, RuntimeError):
            await asyncio.gather(there(), back())


def _is_greeting(data: bytes) -> bool:
    # A connection's first message has no type byte, and the statement of its settings is no request of the journal's.
    return data[0] == 0 or b"set default_transaction_isolation" in data
