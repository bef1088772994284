"""Brings the journal's schema up to date, and says when it and this version of flowx do not fit.

Migrations only ever add, so hosts of the previous version go on while a new one migrates. Each runs once, in
order, all in one transaction, under a lock that the server gives to one migrating host at a time.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from psycopg import AsyncConnection, sql
from psycopg.errors import UndefinedTable

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.postgres.connecting import DatabaseUnfit
from flowx_runtime.journal.postgres.queries import in_schema

_FOLDER: Final = Path(__file__).parent / "migrations"
_FILE_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")


class SchemaNewer(FlowxError):
    """The database was migrated by a later flowx: this one must not write to it."""

    code: ClassVar[str] = "journal.schema_newer"


class SchemaOlder(FlowxError):
    """The database was not yet migrated to what this flowx needs."""

    code: ClassVar[str] = "journal.schema_older"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file of `migrations/`."""

    version: int
    name: str
    text: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All there are, in order; the last one's number is the version this host needs."""
    found = []
    for path in sorted(_FOLDER.glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        assert match is not None, path.name
        found.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return tuple(found)


async def migrate(connection: AsyncConnection[Any], schema: str) -> tuple[Migration, ...]:
    """Apply what is missing; gives what was applied. Safe to run twice and from several hosts at once.

    Raises:
        DatabaseUnfit: the database cannot store every text.
        SchemaNewer: the database is ahead of this host.
    """
    _refuse_encoding(connection)
    present = await version(connection, schema)
    _refuse_newer(present, schema)
    if present == len(migrations()):
        return ()  # and whoever may only read, or on a standby, is not asked for more
    applied: list[Migration] = []
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock(%s)", [_lock_key(schema)])
        await connection.execute(
            in_schema(
                "create schema if not exists {schema};"
                "create table if not exists {schema}.schema_migration ("
                "version integer primary key, name text not null, applied_at timestamptz not null default now());",
                schema,
            )
        )
        present = await _version(connection, schema)
        _refuse_newer(present, schema)
        for migration in migrations()[present:]:
            await connection.execute(in_schema(migration.text, schema))
            await connection.execute(
                sql.SQL("insert into {}.schema_migration (version, name) values (%s, %s)").format(
                    sql.Identifier(schema.replace("%", "%%"))
                ),
                [migration.version, migration.name],
            )
            applied.append(migration)
    return tuple(applied)


async def check(connection: AsyncConnection[Any], schema: str) -> None:
    """Refuse a schema that this host cannot work with.

    Raises:
        DatabaseUnfit: the database cannot store every text.
        SchemaNewer: the database is ahead of this host.
        SchemaOlder: it is behind.
    """
    _refuse_encoding(connection)
    present = await version(connection, schema)
    _refuse_newer(present, schema)
    if present < len(migrations()):
        raise SchemaOlder(
            f"schema {schema!r} is at version {present} and this flowx needs {len(migrations())}: "
            "run `flowx db migrate`"
        )


async def version(connection: AsyncConnection[Any], schema: str) -> int:
    """The number of the last migration that a schema has had; 0 where it does not exist."""
    try:
        return await _version(connection, schema)
    except UndefinedTable:
        return 0


async def _version(connection: AsyncConnection[Any], schema: str) -> int:
    cursor = await connection.execute(
        sql.SQL("select coalesce(max(version), 0) from {}.schema_migration").format(sql.Identifier(schema))
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


def _refuse_encoding(connection: AsyncConnection[Any]) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):  # a pooler may not say
        raise DatabaseUnfit(
            f"the database {connection.info.dbname!r} has the encoding {encoding}, which cannot store every text: "
            "make one with `create database … encoding 'UTF8' template template0`"
        )


def _refuse_newer(present: int, schema: str) -> None:
    if present > len(migrations()):
        raise SchemaNewer(
            f"schema {schema!r} is at version {present} and this flowx knows up to {len(migrations())}: "
            "install the flowx that migrated it, or a later one"
        )


def _lock_key(schema: str) -> int:
    digest = hashlib.sha256(b"flowx migrate " + schema.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
