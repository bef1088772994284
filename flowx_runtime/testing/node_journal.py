"""A node's own connection to the store: it numbers every write, notes what became durable, and dies where it is told.

Leases never run out by themselves: a host that lives renews them, and one that dies loses them when another takes
over, as on a server that notices a broken session.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID

from flowx_runtime.journal.contract import Journal, StepTransaction
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import (
    Claimant,
    Claimed,
    Commit,
    Committed,
    Delivery,
    History,
    NewInstance,
    Refused,
    Started,
    State,
)
from flowx_runtime.testing.node import Node

T = TypeVar("T")

LEASES: ContextVar[Mapping[UUID, int]] = ContextVar("flowx_testing_leases", default=MappingProxyType({}))
"""The leases under which the present task and those that it begins work."""

_NEVER: Final = timedelta(days=36_500)


class NodeJournal:
    """A journal as one node sees it. A question it does not know it hands on; it has no other features.

    So nodes have no presence, for instance: they hear of each other by the sweeps alone, when the test moves time.
    """

    def __init__(self, store: Journal, node: Node) -> None:
        self._store = store
        self._node = node
        self._ledger = node.ledger

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            raise AttributeError(f"{type(self._store).__name__}.{name} is not for the nodes of a test")

        async def asked(*arguments: Any, **named: Any) -> Any:
            return await self._read(lambda: found(*arguments, **named))

        return asked

    async def start(self, instance: NewInstance, *, owner: str, ttl: timedelta) -> Started:
        started = await self._write(
            f"start of {instance.flow_id}", lambda: self._store.start(instance, owner=owner, ttl=_NEVER)
        )
        self._ledger.start(instance.instance_id, instance.flow_id, instance.parent_instance_id)
        if started.lease is not None:
            self._own(instance.instance_id, started.lease.fencing_token)
        if started.is_parked:
            waits = started.history.instance.waits
            self._ledger.commit(Commit(instance.instance_id, 1, state=State.SUSPENDED, waits=waits))
        await self._after()
        return replace(started, history=self._dated(started.history))

    async def commit(self, commit: Commit) -> Committed | Refused:
        answer = await self._write(_said(commit), lambda: self._store.commit(commit), commit)
        self._note(commit, answer)
        await self._after()
        return answer

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        claim = await self._read(lambda: self._store.claim(instance_id, owner=owner, ttl=_NEVER))
        return claim if isinstance(claim, Refused) else self._claimed(claim)

    async def claim_due(self, *, now: datetime, owner: str, ttl: timedelta, **named: Any) -> Sequence[Claimed]:
        page = await self._read(lambda: self._store.claim_due(now=now, owner=owner, ttl=_NEVER, **named))
        return [self._claimed(claim) for claim in page]

    async def claim_abandoned(self, *, owner: str, ttl: timedelta, **named: Any) -> Sequence[Claimed]:
        page = await self._read(lambda: self._store.claim_abandoned(owner=owner, ttl=_NEVER, **named))
        return [self._claimed(claim) for claim in page]

    async def release(self, instance_id: UUID, *, fencing_token: int) -> None:
        if self._node.is_disposed:
            return
        await self._read(lambda: self._store.release(instance_id, fencing_token=fencing_token))
        if self._node.tokens.get(instance_id) == fencing_token:
            del self._node.tokens[instance_id]

    async def deliver(
        self, instance_id: UUID, delivery: Delivery, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        answer = await self._write(
            f"delivery of {delivery.signal_id}",
            lambda: self._store.deliver(instance_id, delivery, claim_for=_for_ever(claim_for)),
        )
        if not isinstance(answer, Refused):
            self._ledger.deliver(instance_id, delivery.delivery_id, delivery.signal_id)
        return await self._after_claim(answer)

    async def record_once(
        self, instance_id: UUID, records: Sequence[OnceRecord], *, fencing_token: int
    ) -> Refused | None:
        refused = await self._write(
            f"record of {', '.join(record.path for record in records)}",
            lambda: self._store.record_once(instance_id, records, fencing_token=fencing_token),
        )
        await self._after()
        return refused

    async def request_cancel(
        self, instance_id: UUID, reason: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        answer = await self._write(
            "request to cancel",
            lambda: self._store.request_cancel(instance_id, reason, claim_for=_for_ever(claim_for)),
        )
        self._ledger.ask_to_cancel()
        return await self._after_claim(answer)

    async def reopen(
        self, instance_id: UUID, by: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        answer = await self._read(lambda: self._store.reopen(instance_id, by, claim_for=_for_ever(claim_for)))
        return await self._after_claim(answer)

    async def read(self, instance_id: UUID) -> History | None:
        history = await self._read(lambda: self._store.read(instance_id))
        return None if history is None else self._dated(history)

    async def close(self) -> None:
        return None

    async def _read(self, ask: Callable[[], Awaitable[T]]) -> T:
        await self._node.go_on()
        async with self._node.work():
            answer = await ask()
        await self._node.go_on()
        return answer

    async def _write(self, what: str, ask: Callable[[], Awaitable[T]], commit: Commit | None = None) -> T:
        node = self._node
        await node.go_on()
        await node.turn(what)
        boundary = self._ledger.boundary(what, commit)
        if node.interrupts.kills(boundary, is_done=False):
            node.kill(f"killed just before {boundary}")
            await node.go_on()
        async with node.work():
            answer = await ask()
        if node.interrupts.kills(boundary, is_done=True):
            node.kill(f"killed just after {boundary}")
        return answer

    async def _after_claim(self, answer: Claimed | Refused | None) -> Claimed | Refused | None:
        """Go on once a write has been noted that may have claimed the instance."""
        found = self._claimed(answer) if isinstance(answer, Claimed) else answer
        await self._after()
        return found

    async def _after(self) -> None:
        """Go on once a write has been noted; a node that died of it does not."""
        await self._node.go_on()

    def _note(self, commit: Commit, answer: Committed | Refused) -> None:
        if isinstance(answer, Refused):
            return
        self._ledger.commit(commit)
        if commit.release_lease:
            self._node.tokens.pop(commit.instance_id, None)

    def _own(self, instance_id: UUID, token: int) -> None:
        self._node.tokens[instance_id] = token
        self._ledger.own(instance_id, token)
        LEASES.set({**LEASES.get(), instance_id: token})

    def _claimed(self, claim: Claimed) -> Claimed:
        self._own(claim.lease.instance_id, claim.lease.fencing_token)
        return replace(claim, history=self._dated(claim.history))

    def _dated(self, history: History) -> History:
        """An instance that began when the test's clock says, whatever the store's own clock is."""
        began = self._ledger.started.get(history.instance.instance_id)
        return history if began is None else replace(history, instance=replace(history.instance, created_at=began))


class TransactionalNodeJournal(NodeJournal):
    """Likewise, for a store on which a step's own work can commit together with its row."""

    def transaction(self) -> AbstractAsyncContextManager[StepTransaction]:
        return self._transaction()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[StepTransaction]:
        await self._node.go_on()
        begin: Callable[[], AbstractAsyncContextManager[StepTransaction]] = self._store.transaction  # type: ignore[attr-defined]
        step: _NodeTransaction | None = None
        async with begin() as inner:
            step = _NodeTransaction(self, inner)
            yield step
            if self._node.is_dead:
                # The server notices that the process is gone, and undoes what was not committed.
                raise ConnectionResetError("this host was killed inside a transaction")
        if step.committed is not None:
            self._note(step.committed, Committed(0))
            if step.boundary is not None and self._node.interrupts.kills(step.boundary, is_done=True):
                self._node.kill(f"killed just after {step.boundary}")
            await self._node.go_on()


class _NodeTransaction:
    """One open transaction: its commit is a write like any other."""

    def __init__(self, journal: NodeJournal, inner: StepTransaction) -> None:
        self._journal = journal
        self._inner = inner
        self.committed: Commit | None = None
        self.boundary: Any = None

    @property
    def connection(self) -> Any:
        return self._inner.connection

    async def commit(self, commit: Commit) -> Committed | Refused:
        node = self._journal._node  # noqa: SLF001 - one connection in two parts
        await node.turn(_said(commit))
        self.boundary = node.ledger.boundary(_said(commit), commit)
        if node.interrupts.kills(self.boundary, is_done=False):
            node.kill(f"killed just before {self.boundary}")
            return Committed(0)  # the block's end raises
        answer = await self._inner.commit(commit)
        if isinstance(answer, Committed):
            self.committed = commit
        return answer


def _for_ever(claimant: Claimant | None) -> Claimant | None:
    return None if claimant is None else replace(claimant, ttl=_NEVER)


def _said(commit: Commit) -> str:
    rows = [f"{row.name or row.capability_id or 'fail'}{f' {row.scope}' if row.scope else ''}" for row in commit.rows]
    parts = [f"row of {', '.join(rows)}"] if rows else []
    parts += [] if commit.state is None else [commit.state.value]
    return "; ".join(parts) or "events"
