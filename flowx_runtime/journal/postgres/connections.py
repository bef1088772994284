"""The connections of a journal, and what their failures mean to its callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from flowx_runtime.journal.contract import JournalUnavailable

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]


class Connections:
    """A pool whose connections commit each statement by itself: one write is one round trip."""

    def __init__(self, dsn: str, *, size: int, patience: float) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=size,
            timeout=patience,
            open=False,
            kwargs={"autocommit": True, "application_name": "flowx"},
            name="flowx-journal",
        )

    async def open(self) -> None:
        """Connect.

        Raises:
            JournalUnavailable: no connection came up in time.
        """
        try:
            await self._pool.open(wait=True, timeout=self._pool.timeout)
        except (PoolTimeout, psycopg.OperationalError) as error:
            await self._pool.close()
            raise _unavailable(error) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """A connection, for as long as the block runs.

        Raises:
            JournalUnavailable: there is none to be had, or it failed in the block.
        """
        try:
            async with self._pool.connection() as connection:
                yield connection
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed) as error:
            raise _unavailable(error) from error

    async def fetch(self, query: bytes, parameters: Any) -> Sequence[tuple[Any, ...]]:
        """Send one statement and give its rows.

        Raises:
            JournalUnavailable: the server could not be asked, or not heard: the statement may have been carried out.
        """
        async with self.lend() as connection:
            cursor = await connection.execute(query, parameters)
            return await cursor.fetchall() if cursor.description is not None else ()


def _unavailable(error: Exception) -> JournalUnavailable:
    reason = str(error).strip().partition("\n")[0]
    return JournalUnavailable(f"the journal's database cannot be reached and will be tried again: {reason}")
