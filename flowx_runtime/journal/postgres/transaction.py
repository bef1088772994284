"""A step's own statements and its row in one database transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connections import Connection, Connections
from flowx_runtime.journal.postgres.documents import commit_document
from flowx_runtime.journal.records import Commit, Committed, Refusal, Refused


class PostgresStepTransaction:
    """What a transactional step works with; see `flowx_runtime.journal.contract.StepTransaction`."""

    def __init__(self, connection: Connection, apply_commit: bytes) -> None:
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
        cursor = await self._connection.execute(self._apply_commit, [commit_document(commit)])
        row = await cursor.fetchone()
        assert row is not None
        self.answer = read_answer(*row)
        return self.answer


@asynccontextmanager
async def step_transaction(connections: Connections, apply_commit: bytes) -> AsyncIterator[PostgresStepTransaction]:
    """Both durable at the end of the block, or neither."""
    raised_inside: BaseException | None = None
    try:
        async with connections.lend() as connection, connection.transaction() as block:
            step = PostgresStepTransaction(connection, apply_commit)
            try:
                yield step
            except BaseException as error:
                raised_inside = error
                raise
            if not isinstance(step.answer, Committed):
                raise psycopg.Rollback(block)
    except JournalUnavailable as unavailable:
        # The step's own database errors are the step's, also where they are of the kind a lost connection raises.
        if raised_inside is not None and unavailable.__cause__ is raised_inside:
            raise raised_inside from None
        raise


def read_answer(refusal: str | None, detail: str | None, last_sequence: int | None) -> Committed | Refused:
    """The answer row of `commit_and_look`."""
    if refusal is not None:
        return Refused(Refusal(refusal), detail or "")
    assert last_sequence is not None
    return Committed(last_sequence, cancel_reason=detail)
