"""Lanes: each a schema, a process that forks workers, and a connection that looks on."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from flowx_runtime import PostgresJournal
from tests.crash.endings import Ending, Instance, Row

ROOT = Path(__file__).parents[2]
LANES = 3


class Lane:
    """Runs one case at a time."""

    def __init__(self, dsn: str, schema: str, folder: Path) -> None:
        self.schema = schema
        self.dsn = f"{dsn}{'&' if '?' in dsn else '?'}options={quote(f'-csearch_path={schema}')}"
        self._folder = folder
        self._number = 0
        self._connection = psycopg.connect(self.dsn, autocommit=True)
        self._connection.execute("create table written (key text, name text)")
        self._forks = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.node"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._forks.stdout is not None
        assert self._forks.stdout.readline() == "ready\n"

    def new_case(self) -> Path:
        """Clear everything; gives the file in which the world notes what happens."""
        self._connection.execute("delete from flow_lease; delete from flow_instance; delete from written")
        self._number += 1
        return self._folder / f"{self._number}.jsonl"

    def live(self, scenario: str, log: Path, *, kill: tuple[str, int] | None = None, takes_over: bool = False) -> int:
        """Let a process work on a scenario; gives its exit code, which is negative where a signal ended it."""
        if takes_over:  # when the leases of the one before have run out
            self._connection.execute("update flow_lease set expires_at = now() where expires_at > now()")
        order: dict[str, Any] = {"dsn": self.dsn, "schema": self.schema, "log": str(log), "scenario": scenario}
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.write(json.dumps(order | {"kill": kill, "takes_over": takes_over}) + "\n")
        self._forks.stdin.flush()
        code = self._forks.stdout.readline()
        said = Path(f"{log}.error")
        assert not said.exists(), said.read_text()
        return int(code)

    def rows(self) -> tuple[Row, ...]:
        return tuple(Row(*row) for row in self._fetch(_ROWS))

    def ending(self) -> Ending:
        """Everything that is left."""
        return Ending(
            tuple(Instance(*row) for row in self._fetch(_INSTANCES)),
            self.rows(),
            tuple(f"{event}" for event in self._fetch(_EVENTS)),
            self._count(_UNTAKEN),
            self._count("flow_lease"),
            self._count("flow_wait"),
            tuple(f"{key} {name}" for key, name in self._fetch("select key, name from written order by name")),
            self.once(),
        )

    def once(self) -> tuple[str, ...]:
        """The values of the effects that run once."""
        return tuple(value for (value,) in self._fetch("select value from flow_once where is_done order by path"))

    def close(self) -> None:
        assert self._forks.stdin is not None
        self._forks.stdin.close()
        self._forks.wait()
        self._connection.close()

    def _fetch(self, query: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def _count(self, what: str) -> int:
        return int(self._fetch(f"select count(*) from {what}")[0][0])


# What comes to an instance that is going back already, nobody has to take.
_UNTAKEN = """flow_inbox join flow_instance using (instance_id) where taken_at is null and (state = 'Completed'
    or state <> 'Cancelled' and signal_id like 'flow.child_finished/%')"""
_INSTANCES = """select instance_id::text, flow_id, state, output::text, error ->> 'code' from flow_instance
    order by created_at, instance_id"""
_ROWS = """select s.instance_id::text, scope, step_id, attempt, name, capability_id, outcome, request::text,
    result::text, s.error ->> 'code', nondeterministic ->> 'utcNow'
    from flow_step s join flow_instance i using (instance_id) order by created_at, s.instance_id, sequence"""
_EVENTS = """select instance_id::text, event_id::text, type, payload::text from outbox_event
    order by instance_id, event_sequence"""


class Lanes:
    """The lanes, each for one user at a time."""

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self._free = queue.SimpleQueue[Lane]()
        for lane in lanes:
            self._free.put(lane)

    @contextmanager
    def one(self) -> Iterator[Lane]:
        """A lane that nobody else uses until the end of the block."""
        lane = self._free.get()
        try:
            yield lane
        finally:
            self._free.put(lane)


@pytest.fixture(scope="session")
def lanes(postgres_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lanes]:
    opened: list[Lane] = []
    with ExitStack() as stack:
        for number in range(LANES):
            schema = f"crash_{number}_{uuid4().hex[:8]}"
            asyncio.run(_migrate(postgres_dsn, schema))
            stack.callback(_drop, postgres_dsn, schema)
            opened.append(Lane(postgres_dsn, schema, tmp_path_factory.mktemp(schema)))
            stack.callback(opened[-1].close)
        yield Lanes(opened)


async def _migrate(dsn: str, schema: str) -> None:
    journal = await PostgresJournal.open(dsn, schema=schema)
    await journal.close()


def _drop(dsn: str, schema: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))
