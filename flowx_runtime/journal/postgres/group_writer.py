"""One writer per host: whatever waits to be written goes to the server as one transaction.

While a group is on its way the next one gathers, so a lone instance pays one round trip and no delay, and a
thousand share one flush to disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.contract import JournalUnavailable, NotStorable
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.documents import commit_document, start_document
from flowx_runtime.journal.postgres.lone import Lone, lone_commit, lone_start
from flowx_runtime.journal.records import Commit, NewInstance

Answer: TypeAlias = tuple[Any, ...]
"""Of a commit: refusal, detail, last sequence. Of a start: created at, when the lease expires unless it was made
parked, history where it existed, what is paused."""

AT_A_TIME: Final = 2
"""Groups on their way at a time. One is prepared while the server works on the other, and a write that waits for a
row does not hold up all others."""

_LARGEST_GROUP: Final = 256
_WORTH_HALVING: Final = 16
"""From this many writes on, two groups: while the server works on one half, this process works on what comes after
the other. Otherwise the callers of one group, answered together, would all wait together again."""


_START: Final = "start"
_PARKED: Final = "parked"
_COMMIT: Final = "commit"


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    instance_id: UUID
    document: Callable[[], str]
    kind: str
    lone: Callable[[], Lone | None]
    """How to send it where it has nobody to share a transaction with, if that is simpler."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    write: _Write
    answer: asyncio.Future[Answer | None]
    """`None`: could not be done in a group, and is to be sent by itself."""


class GroupWriter:
    """Writes starts, and commits that take no delivery, open at most one wait and tell no parent.

    Args:
        lines: the connections of the groups, `AT_A_TIME` of them; nothing else waits in front of a commit.
        calls: the connections of writes that cannot be done in a group, and may wait for a row.
        sql: the statements by name.
    """

    def __init__(self, *, lines: Connections, calls: Connections, sql: Mapping[str, bytes]) -> None:
        self._lines = lines
        self._calls = calls
        self._sql = sql
        self._waiting: deque[_Waiting] = deque()
        self._on_their_way = 0
        self._is_quiet = True
        """The last write had nobody to share with, so the next one is not expected to have either."""
        self._senders: set[asyncio.Task[None]] = set()

    async def start(self, instance: NewInstance, owner: str, ttl: timedelta) -> Answer:
        """Write a start."""
        return await self._write(
            _Write(
                instance.instance_id,
                partial(start_document, instance, owner, ttl),
                kind=_START if instance.parked is None else _PARKED,
                lone=partial(lone_start, instance, owner, ttl),
            )
        )

    async def commit(self, commit: Commit) -> Answer:
        """Write a commit."""
        return await self._write(
            _Write(
                commit.instance_id, partial(commit_document, commit), kind=_COMMIT, lone=partial(lone_commit, commit)
            )
        )

    async def close(self) -> None:
        """Wait for the groups on their way."""
        await asyncio.gather(*self._senders)

    async def _write(self, write: _Write) -> Answer:
        if self._is_quiet and not self._on_their_way and not self._waiting:
            # The caller sends it, which saves two turns of the event loop.
            self._on_their_way += 1
            try:
                return await self._write_alone(write, self._lines)
            finally:
                self._on_their_way -= 1
                self._send_next()
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        if not self._waiting and self._on_their_way < AT_A_TIME:
            # In the next turn of the event loop: an answered group's callers write their next step in this one.
            asyncio.get_running_loop().call_soon(self._send_next)
        self._waiting.append(_Waiting(write, answer))
        return await answer or await self._write_alone(write, self._calls)

    async def _write_alone(self, write: _Write, connections: Connections) -> Answer:
        lone = write.lone()
        if lone is not None:
            answer = await self._write_plainly(*lone, connections)
            if answer is not None:
                return answer
        (row,) = await connections.fetch(self._sql[_COMMIT if write.kind == _COMMIT else _START], [write.document()])
        return row

    async def _write_plainly(self, statement: str, parameters: list[Any], connections: Connections) -> Answer | None:
        """As one statement of plain columns; `None` where nothing was written."""
        try:
            rows = await connections.fetch(self._sql[statement], parameters)
        except NotStorable:  # a key that exists, for one
            return None
        if not rows:
            return None
        if statement == "start_parked":
            created_at, paused = rows[0]
            return created_at, None, None, paused
        if statement == "lone_start":
            created_at, expires_at, paused = rows[0]
            return created_at, expires_at, None, paused
        last_sequence, detail = rows[0]
        return None, detail, last_sequence

    def _send_next(self) -> None:
        if not self._waiting or self._on_their_way >= AT_A_TIME:
            return
        group = self._gather()
        self._is_quiet = len(group) < 2
        if group:
            self._on_their_way += 1
            sender = asyncio.create_task(self._send(group), name="flowx-group-commit")
            self._senders.add(sender)
            sender.add_done_callback(self._sent)
            self._send_next()

    def _sent(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        self._on_their_way -= 1
        if not sender.cancelled():
            self._send_next()

    def _gather(self) -> list[_Waiting]:
        """The next group: one write for an instance, the others' order kept."""
        group: list[_Waiting] = []
        later: list[_Waiting] = []
        taken: set[UUID] = set()
        largest = _LARGEST_GROUP
        if not self._on_their_way and len(self._waiting) >= _WORTH_HALVING:
            largest = min(largest, (len(self._waiting) + 1) // 2)
        while self._waiting and len(group) < largest:
            waiting = self._waiting.popleft()
            if waiting.answer.done():  # its caller was cancelled before it was sent
                continue
            (later if waiting.write.instance_id in taken else group).append(waiting)
            taken.add(waiting.write.instance_id)
        self._waiting.extendleft(reversed(later))
        return group

    async def _send(self, group: list[_Waiting]) -> None:
        by_kind: dict[str, list[_Waiting]] = {_START: [], _PARKED: [], _COMMIT: []}
        for waiting in group:
            by_kind[waiting.write.kind].append(waiting)
        starts, parked, commits = by_kind.values()
        statement = "write_group"
        parameters = [_array(starts), [waiting.write.instance_id for waiting in commits], _array(commits)]
        if parked:
            statement = "write_group_with_parked"
            parameters.append(_array(parked))
        try:
            rows = await self._lines.fetch(self._sql[statement], parameters)
        except JournalUnavailable as error:
            for waiting in group:
                _fail(waiting, error)
        except FlowxError:
            # One of them cannot be stored, so nothing of the group was. By itself each gets its own answer.
            for waiting in group:
                _answer(waiting, None)
        except BaseException:
            for waiting in group:
                waiting.answer.cancel()
            raise
        else:
            for kind, place, *answer in rows:
                _answer(by_kind[kind][place - 1], _read(answer, kind))


def _array(writes: list[_Waiting]) -> str | None:
    return "[" + ",".join(waiting.write.document() for waiting in writes) + "]" if writes else None


def _read(answer: list[Any], kind: str) -> Answer | None:
    refusal, detail, last_sequence, moment, expires_at, paused = answer
    if refusal == "busy":
        return None
    return (refusal, detail, last_sequence) if kind == _COMMIT else (moment, expires_at, None, paused)


def _answer(waiting: _Waiting, answer: Answer | None) -> None:
    if not waiting.answer.done():
        waiting.answer.set_result(answer)


def _fail(waiting: _Waiting, error: JournalUnavailable) -> None:
    if not waiting.answer.done():
        # Each caller gets an exception of its own: a traceback is added to as it travels.
        own = JournalUnavailable(*error.args)
        own.__cause__ = error.__cause__
        waiting.answer.set_exception(own)
