"""Servers of a test's own, and how to wait for one that goes away and comes back."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.embedded import EmbeddedServer


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter: a server started by root runs as another user."""
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def kept_server() -> Iterator[EmbeddedServer]:
    """A server that keeps its data when it is stopped."""
    with open_folder() as folder, EmbeddedServer(folder / "db", settings={"fsync": "off"}) as running:
        yield running


async def until_it_answers(call: Callable[[], Awaitable[Any]]) -> Any:
    """Call again as long as the journal cannot be reached."""
    while True:
        try:
            return await call()
        except JournalUnavailable:
            continue
