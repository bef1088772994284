"""A node among the others on one database: its lock, its ears, and its look at who is gone.

All of it is on one connection of the node's own. One statement per interval asks whether the lock is still held and
whether the lock of a peer is free; in between the connection waits for what others say.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import uuid4

import psycopg
from psycopg import sql

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connecting import Address, Connection, reason_of
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.presence import Hint, OnHint

_LOG = logging.getLogger("flowx.nodes")

_JITTER: Final = 0.1
_MOST_WAKES: Final = 100
"""In one hint: its text has to fit into 8000 bytes. The sweeps find the rest."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Watching:
    """How a node watches the others."""

    interval: timedelta = timedelta(seconds=2)
    """How often to look whether a peer is gone."""
    grace: timedelta = timedelta(milliseconds=500)
    """How long a node whose lock is free may take to come back, before its leases are freed."""
    lease_ttl: timedelta = timedelta(seconds=30)
    """After so long a node counts as gone also where the server's own restart took its lock."""
    probe: timedelta = timedelta(seconds=5)
    """How long a notification may take to come back, before the connection counts as shared."""
    try_again: timedelta = timedelta(minutes=5)
    """How long to do without, after the connection was found to be shared."""


class _SessionShared(Exception):
    """Statements of one connection do not share a session: there is a pooler in between."""


class PostgresPresence:
    """Presence on PostgreSQL; see `flowx_runtime.journal.presence.Presence`.

    Args:
        address: where to connect to.
        calls: what sends hints, apart from the connection that waits for them.
        statements: the statements by name.
        schema: nodes on one schema know of each other.
        owner: this node.
        on_hint: takes what others say.
        watching: how it watches the others.
    """

    def __init__(
        self,
        address: Address,
        calls: Connections,
        statements: Mapping[str, bytes],
        schema: str,
        owner: str,
        on_hint: OnHint,
        watching: Watching,
    ) -> None:
        self._address = address
        self._calls = calls
        self._sql = statements
        self._channel = f"flowx_{hashlib.sha256(schema.encode()).hexdigest()[:16]}"
        self._owner = owner
        self._on_hint = on_hint
        self._watching = watching
        self._random = Random()
        self._has_said_why_not = False
        self._is_out_of_touch = False
        self.is_present = False
        """Whether the lock is held and hints come in."""

    async def keep(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._be_present()
            except _SessionShared:
                self._say_why_not("is reached through a pooler that shares sessions: add a `direct_dsn`")
                await asyncio.sleep(self._watching.try_again.total_seconds())
                continue
            except (psycopg.NotSupportedError, psycopg.ProgrammingError) as lacking:
                self._say_why_not(f"has no sessions that can be watched ({reason_of(lacking)})")
                await asyncio.sleep(self._watching.try_again.total_seconds())
                continue
            except (psycopg.Error, FlowxError, OSError) as lost:
                pause = _FIRST_PAUSE if self.is_present else min(pause * 2, _LONGEST_PAUSE)
                if not self._is_out_of_touch:
                    self._is_out_of_touch = True
                    _LOG.info("this node is out of touch with its peers, and comes back: %s", reason_of(lost))
            except Exception:  # a node that is not there keeps what it leases from the others when it dies
                pause = _FIRST_PAUSE if self.is_present else min(pause * 2, _LONGEST_PAUSE)
                _LOG.exception("this node is out of touch with its peers, and comes back")
            finally:
                self.is_present = False
            await asyncio.sleep(pause)

    async def tell(self, hint: Hint) -> None:
        await self._calls.fetch(self._sql["tell_nodes"], [self._channel, self._word(hint)])

    async def leave(self) -> int:
        word = self._word(Hint(is_ready=True))
        ((freed,),) = await self._calls.fetch(self._sql["leave_node"], [self._owner, self._channel, word])
        return int(freed)

    def _say_why_not(self, what: str) -> None:
        """Once: it does not change by being said again."""
        if not self._has_said_why_not:
            self._has_said_why_not = True
            _LOG.warning(
                "the database at %s %s; until then nodes do not hear of each other and go on by their sweeps, and one "
                "that dies keeps its instances for up to %s",
                self._address.name,
                what,
                self._watching.lease_ttl,
            )

    async def _be_present(self) -> None:
        loop = asyncio.get_running_loop()
        connection = await self._address.connect(deadline=loop.time() + 10)
        try:
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
            await self._find_out_whether_it_is_shared(connection)
            key = self._random.getrandbits(63)
            (has_joined,) = await self._ask(connection, "join_node", [self._owner, key])
            if not has_joined:
                return
            self.is_present = True
            self._is_out_of_touch = False
            self._on_hint(Hint(is_ready=True))  # what was said meanwhile was not heard
            await self._watch(connection, key)
        finally:
            with suppress(psycopg.Error):
                await connection.close()

    async def _find_out_whether_it_is_shared(self, connection: Connection) -> None:
        probe = f"probe {uuid4().hex}"
        await self._calls.fetch(self._sql["tell_nodes"], [self._channel, probe])
        async for notification in connection.notifies(timeout=self._watching.probe.total_seconds()):
            if notification.payload == probe:
                return
        raise _SessionShared

    async def _watch(self, connection: Connection, key: int) -> None:
        watching = self._watching
        rest = 0.0  # whoever starts where a node died goes on with what it left
        while True:
            spread = rest * (1 + self._random.uniform(-_JITTER, _JITTER))
            async for notification in connection.notifies(timeout=spread):
                self._hear(notification.payload)
            answer = await self._ask(connection, "look_around", [self._owner, key, watching.grace, watching.lease_ttl])
            is_here, freed, is_missing = answer
            if not is_here:
                if connection.info.backend_pid != (await self._ask(connection, "session", ()))[0]:
                    raise _SessionShared
                return
            if freed:
                _LOG.warning("a node died: the %s instances it worked on are taken over", freed)
                self._on_hint(Hint(is_ready=True))
                await self.tell(Hint(is_ready=True))
            # A node that is missing comes back soon or not at all.
            rest = (watching.grace if is_missing else watching.interval).total_seconds()
            if is_missing:
                rest /= 1 - _JITTER

    async def _ask(self, connection: Connection, name: str, parameters: Any) -> tuple[Any, ...]:
        with self._calls.answering(connection):
            cursor = await connection.execute(self._sql[name], parameters)
            row = await cursor.fetchone()
        if row is None:
            raise JournalUnavailable(f"the statement {name} gave no row")
        return row

    def _word(self, hint: Hint) -> str:
        wakes = sorted({round(wake.timestamp() + 0.005, 2) for wake in hint.wakes})[:_MOST_WAKES]
        return json.dumps({"by": self._owner, "ready": hint.is_ready, "wakes": wakes, "events": hint.has_events})

    def _hear(self, text: str) -> None:
        # Whoever can connect can say anything here; what cannot be read says that there may be something.
        try:
            said = json.loads(text)
            if said["by"] == self._owner:
                return
            wakes = tuple(datetime.fromtimestamp(wake, UTC) for wake in said["wakes"])
            hint = Hint(is_ready=bool(said["ready"]), wakes=wakes, has_events=bool(said["events"]))
        except (ValueError, TypeError, KeyError, OverflowError, OSError):
            hint = Hint(is_ready=not text.startswith("probe "))
        self._on_hint(hint)
