"""How to reach the journal's database: what a connection string says, and how one connection comes up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from flowx_runtime.authoring.errors import FlowxError

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

_DEFAULTS: Final = {
    # A host that vanished without a word is noticed within half a minute, not within hours.
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
_FIXED: Final = {"application_name": "flowx", "client_encoding": "UTF8"}
_SETTINGS: Final = b"""
set default_transaction_isolation = 'read committed'; set datestyle = 'ISO'; select pg_backend_pid()"""
"""The functions rely on seeing, after they waited for a lock, what its holder committed; the driver on ISO dates."""
_PASSING: Final = (
    "starting up",
    "shutting down",
    "in recovery",
    "not yet accept",
    "not currently accept",
    "terminating connection",
    "too many",
    "remaining connection slots",
)
_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0


class DsnInvalid(FlowxError):
    """What was given as a connection string is none."""

    code: ClassVar[str] = "journal.dsn_invalid"


class ConnectionRefused(FlowxError):
    """The server answered and does not let this user in: trying again changes nothing."""

    code: ClassVar[str] = "journal.connection_refused"


class DatabaseUnfit(FlowxError):
    """The database answered, and lacks something that flowx needs: a right, a table, a function, an encoding."""

    code: ClassVar[str] = "journal.database_unfit"


class Address:
    """Where the database is and how to connect to it.

    Raises:
        DsnInvalid: the text is no connection string.
    """

    def __init__(self, dsn: str) -> None:
        try:
            given = conninfo_to_dict(_whole(dsn))
            for each in str(given.get("port") or "").split(","):
                int(each or 0)
            self._conninfo = make_conninfo("", **(_DEFAULTS | given | _FIXED))
        except (psycopg.Error, UnicodeError, ValueError) as error:
            # The driver's own words may repeat the text, and a password with it.
            raise DsnInvalid(
                "the dsn is not a PostgreSQL connection string: write one such as postgresql://user@host:5432/database"
            ) from error
        host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "the local socket"
        port = given.get("port") or os.environ.get("PGPORT") or 5432
        self.name = f"{host}, port {port}" if str(host).startswith("/") or " " in str(host) else f"{host}:{port}"
        """For people; without user and password."""

    async def connect(
        self, *, deadline: float, instead: Callable[[], Awaitable[Connection | None]] | None = None
    ) -> Connection:
        """A connection that commits each statement by itself, tried for until a moment of the loop's clock.

        Args:
            deadline: that moment.
            instead: asked between two tries for one that has come free meanwhile.

        Raises:
            ConnectionRefused: the server says no.
            psycopg.OperationalError: it could not be reached by then.
        """
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        while True:
            try:
                async with asyncio.timeout_at(max(deadline, loop.time() + _FIRST_PAUSE)):
                    connection = await AsyncConnection.connect(self._conninfo, autocommit=True)
                    await _prepare(connection)
                    return connection
            except TimeoutError:
                raise psycopg.OperationalError("no answer") from None
            except psycopg.OperationalError as error:
                if _is_final(error):
                    raise ConnectionRefused(
                        f"the database at {self.name} refuses the connection: {reason_of(error)}"
                    ) from error
                if loop.time() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)
            freed = None if instead is None else await instead()
            if freed is not None:
                return freed
            pause = min(pause * 2, _LONGEST_PAUSE)


def _whole(dsn: str) -> str:
    if "\x00" in dsn:
        raise ValueError("the driver would stop reading here")
    return dsn


async def _prepare(connection: Connection) -> None:
    cursor = await connection.execute(_SETTINGS)
    while cursor.nextset():
        pass
    row = await cursor.fetchone()
    assert row is not None
    if row[0] != connection.info.backend_pid:
        # A pooler is in between. The next transaction may be another session's, which has prepared nothing.
        connection.prepare_threshold = None


def reason_of(error: BaseException) -> str:
    """The first line of the driver's words, without what every such error begins with."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    line = said.strip().partition("\n")[0]
    for marker in ("FATAL:", "failed: "):
        line = line.rpartition(marker)[2].strip() if marker in line else line
    return line or type(error).__name__


def _is_final(error: psycopg.OperationalError) -> bool:
    """Whether the server itself refused, for a reason that does not pass by waiting.

    A refusal during connecting has no SQLSTATE, only text. Where a server speaks another language, waiting is harmless.
    """
    said = str(error)
    passing = (
        "starting up",
        "shutting down",
        "in recovery",
        "too many",
        "remaining connection slots",
        "not yet accept",
        "not currently accept",
        "terminating connection",
    )
    if "FATAL:" in said:
        return not any(each in said for each in passing)
    return "invalid" in said and "value:" in said  # an option the client library does not know, such as sslmode=maybe
