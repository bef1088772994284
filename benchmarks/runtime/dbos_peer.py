"""DBOS beside us: found, started in a process of its own on the same server, asked to do the same work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote
from uuid import uuid4

from psycopg import connect, sql
from psycopg.conninfo import conninfo_to_dict

NAME: Final = "DBOS"
INTERPRETER: Final = "FLOWX_BENCH_DBOS"
HOW_TO: Final = (
    f"DBOS is not installed, so nothing is measured beside it: make a virtual environment, `pip install dbos` there, "
    f"and give its interpreter in {INTERPRETER}"
)


def interpreter() -> str | None:
    """A Python that has DBOS; `None` where there is none."""
    for candidate in (os.environ.get(INTERPRETER), sys.executable):
        if (
            candidate
            and subprocess.run([candidate, "-c", "import dbos"], capture_output=True, check=False).returncode == 0
        ):
            return candidate
    return None


def version(python: str) -> str:
    program = "from importlib.metadata import version; print(version('dbos'))"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


class Dbos:
    """A process with DBOS in it."""

    def __init__(self, python: str, url: str) -> None:
        self._python, self._url = python, url
        program = Path(__file__).with_name("dbos_program.py")
        self._process = subprocess.Popen(
            [python, str(program), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.launch_ms: float = self._answer()["launch_ms"]

    def ask(self, do: str, **what: object) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **what}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def again(self) -> Dbos:
        """Kill it and start another one on the same database."""
        self.end()
        return Dbos(self._python, self._url)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                found: dict[str, float] = json.loads(line)
                return found
        raise RuntimeError("the process with DBOS ended: run benchmarks/runtime/dbos_program.py by hand to see why")


def url_of(dsn: str, database: str) -> str:
    """A DSN of libpq as SQLAlchemy writes it, for another database on the same server."""
    parts = conninfo_to_dict(dsn)
    user, host = quote(str(parts.get("user", "postgres"))), str(parts.get("host", ""))
    password = f":{quote(str(parts['password']))}" if parts.get("password") else ""
    port = parts.get("port", 5432)
    if host.startswith("/"):
        return f"postgresql://{user}{password}@/{database}?host={quote(host)}&port={port}"
    return f"postgresql://{user}{password}@{host}:{port}/{database}"


@contextmanager
def database_of_its_own(dsn: str) -> Iterator[str]:
    """A new database for it, dropped afterwards; gives its name."""
    name = f"bench_dbos_{uuid4().hex[:8]}"
    with connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield name
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def running(dsn: str, python: str | None) -> Iterator[Dbos | None]:
    """DBOS, launched on a new database; `None` where it is not installed."""
    if python is None:
        yield None
        return
    with database_of_its_own(dsn) as name:
        dbos = Dbos(python, url_of(dsn, name))
        try:
            yield dbos
        finally:
            dbos.end()
