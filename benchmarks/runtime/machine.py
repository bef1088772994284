"""What a run was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from psycopg import connect

_SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")


def machine(dsn: str) -> dict[str, str]:
    """The machine, the interpreter, and the server with the settings that decide what a commit costs."""
    with connect(dsn, autocommit=True) as connection:
        settings = {name: str(connection.execute(f"show {name}".encode()).fetchone()[0]) for name in _SETTINGS}  # type: ignore[index]
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "psycopg": version("psycopg"),
        "PostgreSQL": ", ".join(f"{name} {value}" for name, value in settings.items()).removeprefix("server_version "),
    }
