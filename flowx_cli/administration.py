"""Works on the journal's database itself: its schema, how it stands, what is old in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from flowx_cli.database import known_database
from flowx_compiler.errors import UsageProblem
from flowx_runtime import PostgresJournal
from flowx_runtime.authoring.durations import format_duration
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.pauses import said_of_pause
from flowx_runtime.journal.postgres.connecting import Address, Connection, reason_of
from flowx_runtime.journal.postgres.connections import meaning_of
from flowx_runtime.journal.postgres.migrating import Migration, check, migrate
from flowx_runtime.journal.postgres.status import Schema, Status, read_schema, read_status
from flowx_runtime.journal.records import Pruned, State

SCHEMA: Final = "flowx"
_PATIENCE: Final = 10.0
"""Seconds to try to reach the database."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The schema, and what is in it where it is of this version."""

    schema: Schema
    status: Status | None

    def document(self) -> dict[str, Any]:
        """It as JSON."""
        found: dict[str, Any] = {"schemaVersion": self.schema.version, "neededVersion": self.schema.needed}
        status = self.status
        if status is None:
            return found
        return found | {
            "instances": dict(status.instances),
            "oldestDue": None if status.oldest_due is None else status.oldest_due.isoformat(),
            "overdueSeconds": status.overdue.total_seconds(),
            "leases": {"live": status.live_leases, "expired": status.expired_leases},
            "nodes": status.nodes,
            "outbox": {
                "pending": status.events_pending,
                "lagSeconds": status.events_lag.total_seconds(),
                "poisoned": status.events_poisoned,
            },
            "stuck": status.stuck,
            "paused": [
                {"target": pause.target, "reason": pause.reason, "since": pause.paused_at.isoformat()}
                for pause in status.pauses
            ],
        }

    def lines(self) -> Iterator[str]:
        """It for a person."""
        has, needs = self.schema.version, self.schema.needed
        if has < needs:
            yield f"schema     version {has}; this flowx needs {needs}: run `flowx db migrate`"
        elif has > needs:
            yield f"schema     version {has}; this flowx knows up to {needs}: install a later one"
        else:
            yield f"schema     version {has}"
        status = self.status
        if status is None:
            return
        counts = ", ".join(f"{count} {state}" for state, count in status.instances.items())
        yield f"instances  {counts or 'none'}"
        due = "nothing is overdue"
        if status.oldest_due is not None:
            due = f"the oldest due is {_rounded(status.overdue)} late ({status.oldest_due.isoformat()})"
        yield f"waits      {due}"
        yield f"leases     {status.live_leases} live, {status.expired_leases} expired; {status.nodes} nodes are present"
        yield (
            f"outbox     {status.events_pending} pending, the oldest for {_rounded(status.events_lag)}; "
            f"{status.events_poisoned} poisoned"
        )
        if status.stuck:
            yield f"stuck      {status.stuck} that a node could not go on with; `flowx ps` shows which"
        for pause in status.pauses:
            yield f"paused     {said_of_pause(pause)}"


async def migrate_database(dsn: str | None) -> tuple[Migration, ...]:
    """Bring the schema up to date; gives what was applied.

    Raises:
        SchemaNewer: a later flowx has migrated it.
        JournalUnavailable: the database cannot be reached.
    """
    with known_database(dsn) as server:
        async with _connected(server) as connection:
            return await migrate(connection, SCHEMA)


async def look_at_database(dsn: str | None) -> Standing:
    """How the database stands.

    Raises:
        JournalUnavailable: it cannot be reached.
    """
    with known_database(dsn) as server:
        async with _connected(server) as connection:
            schema = await read_schema(connection, SCHEMA)
            return Standing(schema, await read_status(connection, SCHEMA) if schema.is_current else None)


async def prune_database(dsn: str | None, older_than: timedelta, states: Collection[State]) -> Pruned:
    """Remove ended instances that were last written longer ago than that.

    Raises:
        SchemaOlder: the schema is behind.
        SchemaNewer: it is ahead.
        JournalUnavailable: the database cannot be reached.
    """
    with known_database(dsn) as server:
        async with _connected(server) as connection:
            await check(connection, SCHEMA)
        journal = await PostgresJournal.open(server, migrate=False)
        try:
            return await journal.prune(older_than=_before(await journal.now(), older_than), states=states)
        finally:
            await journal.close()


def pruned_document(pruned: Pruned) -> dict[str, Any]:
    """What was removed, as JSON."""
    return asdict(pruned)


def _before(moment: datetime, age: timedelta) -> datetime:
    try:
        return moment - age
    except OverflowError:
        raise UsageProblem(f"there was no time {format_duration(age)} ago: give a shorter --older-than") from None


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Connection]:
    import asyncio

    import psycopg

    address = Address(dsn)
    try:
        connection = await address.connect(deadline=asyncio.get_running_loop().time() + _PATIENCE)
        async with connection:
            yield connection
    except psycopg.OperationalError as error:
        raise JournalUnavailable(
            f"the database at {address.name} cannot be reached: {reason_of(error)}; check --dsn, and that it is up"
        ) from error
    except psycopg.Error as error:
        raise meaning_of(error, address.name) from error


def _rounded(span: timedelta) -> str:
    return format_duration(timedelta(seconds=round(span.total_seconds())))
