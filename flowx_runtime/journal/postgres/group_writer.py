"""One writer per host: whatever waits to be written goes to the server as one transaction.

While a group is on its way the next one gathers, so a lone instance pays one round trip and no delay, and a
thousand share one flush to disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connections import Connections

Answer: TypeAlias = tuple[Any, ...]
"""Of a commit: refusal, detail, last sequence. Of a start: created at, lease expires at, history where it existed."""

_LARGEST_GROUP: Final = 256
_AT_A_TIME: Final = 2
"""Groups on their way at a time. One is prepared while the server works on the other, and a write that waits for a
row does not hold up all others."""


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    instance_id: UUID
    document: str
    is_start: bool
    answer: asyncio.Future[Answer | None]
    """`None`: could not be done in a group, and is to be sent by itself."""


class GroupWriter:
    """Writes starts, and commits that take no delivery, open at most one wait and tell no parent."""

    def __init__(self, connections: Connections, *, write_group: bytes, start: bytes, commit: bytes) -> None:
        self._connections = connections
        self._write_group = write_group
        self._start = start
        self._commit = commit
        self._waiting: deque[_Write] = deque()
        self._on_their_way = 0
        self._is_quiet = True
        """The last write had nobody to share with, so the next one is not expected to have either."""
        self._senders: set[asyncio.Task[None]] = set()

    async def start(self, instance_id: UUID, document: str) -> Answer:
        """Write a start."""
        return await self._write(instance_id, document, is_start=True)

    async def commit(self, instance_id: UUID, document: str) -> Answer:
        """Write a commit."""
        return await self._write(instance_id, document, is_start=False)

    async def close(self) -> None:
        """Wait for the groups on their way."""
        await asyncio.gather(*self._senders)

    async def _write(self, instance_id: UUID, document: str, *, is_start: bool) -> Answer:
        if self._is_quiet and not self._on_their_way and not self._waiting:
            # The caller sends it, which saves two turns of the event loop.
            self._on_their_way += 1
            try:
                return await self._write_alone(document, is_start=is_start)
            finally:
                self._on_their_way -= 1
                self._send_next()
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        if not self._waiting and self._on_their_way < _AT_A_TIME:
            # In the next turn of the event loop: an answered group's callers write their next step in this one.
            asyncio.get_running_loop().call_soon(self._send_next)
        self._waiting.append(_Write(instance_id, document, is_start, answer))
        return await answer or await self._write_alone(document, is_start=is_start)

    async def _write_alone(self, document: str, *, is_start: bool) -> Answer:
        (row,) = await self._connections.fetch(self._start if is_start else self._commit, [document])
        return row

    def _send_next(self) -> None:
        if not self._waiting or self._on_their_way >= _AT_A_TIME:
            return
        group = self._gather()
        self._is_quiet = len(group) < 2
        if group:
            self._on_their_way += 1
            sender = asyncio.create_task(self._send(group), name="flowx-group-commit")
            self._senders.add(sender)
            sender.add_done_callback(self._sent)

    def _sent(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        self._on_their_way -= 1
        if not sender.cancelled():
            self._send_next()

    def _gather(self) -> list[_Write]:
        """The next group: one write for an instance, the others' order kept."""
        group: list[_Write] = []
        later: list[_Write] = []
        taken: set[UUID] = set()
        while self._waiting and len(group) < _LARGEST_GROUP:
            write = self._waiting.popleft()
            if write.answer.done():  # its caller was cancelled before it was sent
                continue
            (later if write.instance_id in taken else group).append(write)
            taken.add(write.instance_id)
        self._waiting.extendleft(reversed(later))
        return group

    async def _send(self, group: list[_Write]) -> None:
        starts = [write for write in group if write.is_start]
        commits = [write for write in group if not write.is_start]
        parameters = [_array(starts), [write.instance_id for write in commits], _array(commits)]
        try:
            rows = await self._connections.fetch(self._write_group, parameters)
        except psycopg.Error:
            # One of them cannot be stored, so nothing of the group was. By itself each gets its own answer.
            for write in group:
                _answer(write, None)
        except JournalUnavailable as error:
            for write in group:
                _fail(write, error)
        except BaseException:
            for write in group:
                write.answer.cancel()
            raise
        else:
            for is_start, place, *answer in rows:
                write = (starts if is_start else commits)[place - 1]
                _answer(write, _read(answer, is_start=is_start))


def _array(writes: list[_Write]) -> str | None:
    return "[" + ",".join(write.document for write in writes) + "]" if writes else None


def _read(answer: list[Any], *, is_start: bool) -> Answer | None:
    refusal, detail, last_sequence, moment, expires_at = answer
    if refusal == "busy":
        return None
    return (moment, expires_at, None) if is_start else (refusal, detail, last_sequence)


def _answer(write: _Write, answer: Answer | None) -> None:
    if not write.answer.done():
        write.answer.set_result(answer)


def _fail(write: _Write, error: JournalUnavailable) -> None:
    if not write.answer.done():
        # Each caller gets an exception of its own: a traceback is added to as it travels.
        own = JournalUnavailable(*error.args)
        own.__cause__ = error.__cause__
        write.answer.set_exception(own)
