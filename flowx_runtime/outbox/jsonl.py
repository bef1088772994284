"""Publishes events as lines of a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.publisher import PublisherUnavailable

_BLOCK: Final = 64 * 1024


class JsonlPublisher:
    """Appends each event to a file as one line of CloudEvents JSON, and returns when it is on the disk.

    A process that is killed while it writes leaves half a line at most. The next write takes that half away, so every
    line is whole; the event it belonged to is published again. Events that come at the same time share one flush.
    Several processes on one machine may append to one file. It is opened anew for each write: move it away to rotate.

    Args:
        path: the file; made when missing, with the folders it is in.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def publish(self, envelope: Envelope) -> None:
        """Append the event."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((envelope.document().encode() + b"\n", written))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="flowx jsonl")
        await written

    async def close(self) -> None:
        """Wait for the lines that are on their way."""
        if self._writer is not None:
            await self._writer

    async def _write(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            failure: OSError | None = None
            try:
                await asyncio.to_thread(append_lines, self._path, b"".join(line for line, _ in group))
            except OSError as error:
                failure = error
            for _, written in group:
                if written.done():  # its publisher has given up waiting; that it comes again does no harm
                    continue
                if failure is None:
                    written.set_result(None)
                else:
                    written.set_exception(PublisherUnavailable(f"{self._path} could not be written: {failure}"))
        self._writer = None


def append_lines(path: Path, lines: bytes) -> None:
    """Append whole lines and wait for the disk; half a line that a killed process left is taken away first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o640)
    try:
        with _locked(file):
            size = os.fstat(file).st_size
            whole = _end_of_last_line(file, size)
            if whole < size:
                os.ftruncate(file, whole)
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        if size == 0:
            _flush_folder(path.parent)
    finally:
        os.close(file)


@contextlib.contextmanager
def _locked(file: int) -> Iterator[None]:
    """Alone with the file: half a line at its end then belongs to nobody who is still writing."""
    try:
        import fcntl
    except ImportError:  # Windows: one process per file
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _end_of_last_line(file: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        os.lseek(file, start, os.SEEK_SET)
        newline = os.read(file, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _flush_folder(folder: Path) -> None:
    """A new file's name is on the disk only when its folder is."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
