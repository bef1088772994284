"""Tells an orchestrator how a worker is, over HTTP.

`/healthz` is 200 while the event loop turns: anything else, or no answer, is a reason to restart the process.
`/readyz` is 200 while it takes work and its database answers, else 503.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

_LONGEST_REQUEST: Final = 8192
_PATIENCE: Final = 5.0
_AGE: Final = 2.0
"""Seconds for which an answer of the database counts, however often somebody asks."""


class Readiness:
    """Whether the worker takes work, as asked of its database at most every two seconds.

    Args:
        ask: raises where the database does not answer.
        is_open: whether the worker still takes work.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]], is_open: Callable[[], bool]) -> None:
        self._ask = ask
        self._is_open = is_open
        self._asked_at = float("-inf")
        self._is_answered = False
        self._asking = asyncio.Lock()

    async def is_ready(self) -> bool:
        if not self._is_open():
            return False
        async with self._asking:
            if time.monotonic() - self._asked_at > _AGE:
                try:
                    async with asyncio.timeout(_AGE):
                        await self._ask()
                    self._is_answered = True
                except Exception:  # whatever it is, this worker cannot work
                    self._is_answered = False
                self._asked_at = time.monotonic()
        return self._is_answered and self._is_open()


class Health:
    """Answers `GET` and `HEAD` of the two paths. Use it as a context manager.

    Args:
        port: where to listen, on every interface; 0 takes a free one of the local interface.
        readiness: what `/readyz` says.
    """

    def __init__(self, port: int, readiness: Readiness) -> None:
        self._asked_port = port
        self._readiness = readiness
        self._asking: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Health:
        # A free port is another one for each address, so then there is one address.
        host = None if self._asked_port else "127.0.0.1"
        self._server = await asyncio.start_server(self._serve, host, self._asked_port, limit=_LONGEST_REQUEST)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._asking.values():
            writer.close()  # whoever has not asked by now reads the end
        if self._asking:
            await asyncio.wait(set(self._asking), timeout=_AGE)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._asking[task] = writer
        task.add_done_callback(self._asking.pop)
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.decode("latin-1").partition(" ")
                status, word = await self._answer(method, rest.partition(" ")[0].partition("?")[0])
                body = json.dumps({"status": word}).encode()
                writer.write(
                    f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                )
                writer.write(b"" if method == "HEAD" else body)
                await writer.drain()
        writer.close()

    async def _answer(self, method: str, path: str) -> tuple[HTTPStatus, str]:
        if path not in ("/healthz", "/readyz"):
            return HTTPStatus.NOT_FOUND, "there is /healthz and /readyz"
        if method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD"
        if path == "/healthz" or await self._readiness.is_ready():
            return HTTPStatus.OK, "ok"
        return HTTPStatus.SERVICE_UNAVAILABLE, "not ready"
