"""A step's own statements and its row in one database transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncTransaction

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connecting import Connection
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import commit_document
from flowx_runtime.journal.records import Commit, Committed, Refusal, Refused


class PostgresStepTransaction:
    """What a transactional step works with; see `flowx_runtime.journal.contract.StepTransaction`."""

    def __init__(self, connections: Connections, connection: Connection, apply_commit: bytes) -> None:
        self._connections = connections
        self._connection = connection
        self._apply_commit = apply_commit
        self.answer: Committed | Refused | None = None

    @property
    def connection(self) -> Connection:
        """The connection with the open transaction."""
        return self._connection

    async def commit(self, commit: Commit) -> Committed | Refused:
        """Write the row last, so that the instance is locked for no longer than that."""
        if self.answer is not None:
            raise RuntimeError("a step transaction takes one commit")
        try:
            with self._connections.answering(self._connection):
                cursor = await self._connection.execute(self._apply_commit, [commit_document(commit)])
                row = await cursor.fetchone()
        except psycopg.Error as error:
            raise self._connections.meaning(error) from error
        assert row is not None
        self.answer = read_answer(*row)
        return self.answer

    def undo_unless_written(self, block: AsyncTransaction) -> None:
        """Leave the block without a commit where no row was written."""
        if not isinstance(self.answer, Committed):
            raise psycopg.Rollback(block)


@asynccontextmanager
async def step_transaction(connections: Connections, apply_commit: bytes) -> AsyncIterator[PostgresStepTransaction]:
    """Both durable at the end of the block, or neither.

    The step's own database errors stay its own, also where they are of the kind that a lost connection raises.

    Raises:
        JournalUnavailable: there is no connection, or it was lost: the step's work and its row may both be durable.
    """
    async with connections.borrow() as connection:
        try:
            async with connection.transaction() as block:
                step = PostgresStepTransaction(connections, connection, apply_commit)
                yield step
                step.undo_unless_written(block)
        except Exception as error:
            if connection.closed and not isinstance(error, JournalUnavailable):
                raise connections.unavailable("the connection was lost in a step's transaction") from error
            raise


def read_answer(refusal: str | None, detail: str | None, last_sequence: int | None) -> Committed | Refused:
    """The answer row of `commit_and_look`."""
    if refusal is not None:
        return Refused(Refusal(refusal), detail or "")
    assert last_sequence is not None
    return Committed(last_sequence, cancel_reason=detail)
