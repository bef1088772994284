"""Where the instances of a test host are kept: in memory, or in a schema of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol
from uuid import uuid4

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.testing.node import Node
from flowx_runtime.testing.node_journal import NodeJournal, TransactionalNodeJournal


class Store(Protocol):
    """Outlives the hosts of a test, as a database does."""

    @property
    def journal(self) -> Journal:
        """The journal, once the store is open."""
        ...

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Forget everything and disconnect."""
        ...

    def connect(self, node: Node) -> NodeJournal:
        """One node's own view of it."""
        ...


class MemoryStore:
    """A journal in memory."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.journal: Journal = MemoryJournal(now)

    async def open(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def connect(self, node: Node) -> NodeJournal:
        return NodeJournal(self.journal, node)


class PostgresStore:
    """A schema that nobody else uses at the time; it is emptied when the store is closed."""

    def __init__(self, dsn: str, schema: str, give_back: Callable[[str], None]) -> None:
        self._dsn = dsn
        self._schema = schema
        self._give_back = give_back
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal:
        assert self._journal is not None, "the store is opened by the first use of its host"
        return self._journal

    async def open(self) -> None:
        from flowx_runtime.journal.postgres.journal import PostgresJournal

        self._journal = await PostgresJournal.open(self._dsn, schema=self._schema, pool_size=4)

    async def close(self) -> None:
        journal, self._journal = self._journal, None
        if journal is not None:
            import psycopg
            from psycopg import sql

            await journal.close()
            async with await psycopg.AsyncConnection.connect(self._dsn, autocommit=True) as connection:
                found = await connection.execute(
                    "select tablename from pg_tables where schemaname = %s and tablename <> 'schema_migration'"
                    " order by tablename <> 'flow_instance'",
                    [self._schema],
                )
                for (table,) in await found.fetchall():
                    emptied = sql.Identifier(self._schema, table)
                    await connection.execute(sql.SQL("delete from {}").format(emptied))
        self._give_back(self._schema)

    def connect(self, node: Node) -> NodeJournal:
        return TransactionalNodeJournal(self.journal, node)


class PostgresSchemas:
    """Lends schemas of one server to the hosts of many tests, so that each is made only once."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._made: list[str] = []
        self._free: list[str] = []

    def open_store(self, now: Callable[[], datetime]) -> PostgresStore:
        """A store for one test host."""
        if not self._free:
            self._made.append(f"flowx_test_{uuid4().hex}")
            self._free.append(self._made[-1])
        return PostgresStore(self._dsn, self._free.pop(), self._free.append)

    def drop(self) -> None:
        """Drop every schema that was made."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self._dsn, autocommit=True) as connection:
            for schema in self._made:
                connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))
