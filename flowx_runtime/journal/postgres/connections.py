"""The connections of a journal, and what their failures mean to its callers."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.contract import JournalUnavailable, NotStorable
from flowx_runtime.journal.postgres.connecting import Address, Connection, DatabaseUnfit, reason_of

_IDLE_SECONDS: Final = 600
"""How long a connection that nobody needs is kept."""

_TRANSIENT: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    # After a failover the old primary, or a standby, takes connections and no writes.
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
    errors.lookup("25P04"),  # transaction_timeout, from PostgreSQL 17 on
)


class Connections:
    """Up to `size` connections, made when they are needed and kept. Each commits every statement by itself.

    One that the server has dropped while nobody used it is noticed before it is lent, so that a restart of the server
    costs no call its answer.

    Args:
        address: where to connect to.
        size: the most connections to hold.
        patience: seconds that a caller waits for a connection.
        answer_within: seconds that a statement may take before its connection is given up.
    """

    def __init__(self, address: Address, *, size: int, patience: float, answer_within: float) -> None:
        self._address = address
        self._patience = patience
        self._answer_within = answer_within
        self._size = size
        self._places = asyncio.Semaphore(size)
        self._idle: list[tuple[Connection, float]] = []
        """The longest unused first."""
        self._is_closed = False

    async def close(self) -> None:
        """Close every connection; one that is lent is closed when it comes back."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop()[0].close()

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[Connection]:
        """A connection, for as long as the block runs; what is raised in the block stays as it is.

        Waits for its turn for as long as others use all connections, however long that is.

        Raises:
            JournalUnavailable: the database cannot be reached.
        """
        connection = await self._take(waits_its_turn=True)
        try:
            yield connection
        finally:
            await self._put_back(connection)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """A connection, for as long as the block runs.

        Raises:
            JournalUnavailable: there is none to be had, or it failed in the block.
        """
        connection = await self._take()
        try:
            yield connection
        except psycopg.Error as error:
            raise self.meaning(error) from error
        finally:
            await self._put_back(connection)

    async def fetch(self, query: bytes, parameters: Any) -> Sequence[tuple[Any, ...]]:
        """Send one statement and give its rows.

        Raises:
            JournalUnavailable: the server could not be asked, or not heard: the statement may have been carried out.
            NotStorable: the database does not take a value.
        """
        connection = await self._take()
        try:
            with self.answering(connection):
                cursor = await connection.execute(query, parameters)
                return await cursor.fetchall() if cursor.description is not None else ()
        except psycopg.Error as error:
            raise self.meaning(error) from error
        finally:
            await self._put_back(connection)

    async def ask(self, query: bytes, parameters: Any) -> Sequence[tuple[Any, ...]]:
        """`fetch`, and once more if the connection was lost: for statements that may be carried out twice.

        Raises:
            JournalUnavailable: as `fetch`.
            NotStorable: likewise.
        """
        try:
            return await self.fetch(query, parameters)
        except JournalUnavailable:
            return await self.fetch(query, parameters)

    @contextmanager
    def answering(self, connection: Connection) -> Iterator[None]:
        """Give the connection up if the server has not answered in time; a server may hang and keep its socket open.

        Raises:
            JournalUnavailable: it did not.
        """
        hung_up: list[bool] = []

        def hang_up() -> None:
            hung_up.append(True)
            # Not `close`: the driver is still waiting on the socket, and this wakes it.
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)

        timer = asyncio.get_running_loop().call_later(self._answer_within, hang_up)
        try:
            yield
        except psycopg.OperationalError as error:
            if hung_up:
                raise self.unavailable(f"no answer within {self._answer_within:g} s") from error
            raise
        finally:
            timer.cancel()

    def unavailable(self, reason: str) -> JournalUnavailable:
        """The error of a call that could not be answered."""
        return _unavailable(self._address.name, reason)

    def meaning(self, error: psycopg.Error) -> FlowxError:
        """What a driver's error is to a caller of the journal."""
        return meaning_of(error, self._address.name)

    async def _take(self, *, waits_its_turn: bool = False) -> Connection:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        self._refuse_closed()
        try:
            if self._places.locked() and not waits_its_turn:
                async with asyncio.timeout_at(deadline):
                    await self._places.acquire()
            else:
                await self._places.acquire()
        except TimeoutError:
            raise self.unavailable(f"all {self._size} connections were busy for {self._patience:g} s") from None
        try:
            self._refuse_closed()
            if waits_its_turn:
                deadline = loop.time() + self._patience
            return await self._idle_one() or await self._address.connect(deadline=deadline, instead=self._idle_one)
        except BaseException as error:
            self._places.release()
            if isinstance(error, psycopg.OperationalError):
                raise self.unavailable(reason_of(error)) from error
            raise

    async def _idle_one(self) -> Connection | None:
        while self._idle:
            connection, _ = self._idle.pop()
            if not _is_dropped(connection):
                return connection
            await connection.close()
        return None

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise self.unavailable("this journal was closed")

    async def _put_back(self, connection: Connection) -> None:
        self._places.release()
        if self._is_closed or connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
            await connection.close()
            return
        now = asyncio.get_running_loop().time()
        self._idle.append((connection, now))
        if now - self._idle[0][1] > _IDLE_SECONDS:
            await self._idle.pop(0)[0].close()


def _is_dropped(connection: Connection) -> bool:
    """Whether the server has closed an unused connection: nothing else makes its socket readable."""
    if connection.closed:
        return True
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def meaning_of(error: psycopg.Error, at: str) -> FlowxError:
    """What a driver's error is to somebody who works with the database at a place."""
    if isinstance(error, errors.ProgramLimitExceeded | psycopg.DataError | psycopg.IntegrityError):
        return NotStorable(f"the database does not store this: {reason_of(error)}")
    if isinstance(error, _TRANSIENT):
        return _unavailable(at, reason_of(error))
    remedy = "grant it" if isinstance(error, errors.InsufficientPrivilege) else "run `flowx db migrate`"
    return DatabaseUnfit(f"the database at {at} does not do what flowx needs ({reason_of(error)}): {remedy}")


def _unavailable(at: str, reason: str) -> JournalUnavailable:
    return JournalUnavailable(f"the journal's database at {at} cannot be reached and will be tried again: {reason}")
