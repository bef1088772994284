"""Which PostgreSQL a verb works on: `--dsn`, else `FLOWX_DSN`, else an embedded server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Database:
    """A server to connect to."""

    dsn: str
    is_embedded: bool


@contextmanager
def database(dsn: str | None, *, data: Path | None = None) -> Iterator[Database]:
    """Give the server that was named, or an embedded one for as long as the context is open.

    Args:
        dsn: what `--dsn` said.
        data: where an embedded server keeps its cluster; `None` throws it away at the end.
    """
    named = dsn or os.environ.get("FLOWX_DSN")
    if named:
        yield Database(named, is_embedded=False)
        return
    from flowx_runtime.journal.postgres.embedded import EmbeddedServer

    with EmbeddedServer(data) as server:
        yield Database(server.dsn, is_embedded=True)


@contextmanager
def known_database(dsn: str | None) -> Iterator[str]:
    """The DSN of the database that was named, or of the project's embedded one if there is one.

    Raises:
        UsageProblem: no database is named, and the project has none.
    """
    from flowx_compiler.config import find_pyproject
    from flowx_compiler.errors import UsageProblem

    pyproject = find_pyproject(Path())
    data = None if pyproject is None else pyproject.parent / ".flowx" / "postgres"
    if not (dsn or os.environ.get("FLOWX_DSN") or (data is not None and data.is_dir())):
        raise UsageProblem("no database is known: name one with --dsn (or FLOWX_DSN)")
    with database(dsn, data=data) as server:
        yield server.dsn
