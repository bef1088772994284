"""Goes on with instances that this node holds the lease of, and tells who has to know of it: sweeps, peers, outbox."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.engine.clock import Clock
from flowx_runtime.engine.ended import Ended
from flowx_runtime.engine.engine import UNREADABLE, Engine
from flowx_runtime.host.errors import DurabilityNotConfigured, HostClosed
from flowx_runtime.host.peers import Peers
from flowx_runtime.host.plans import Plans
from flowx_runtime.host.telling import not_runnable
from flowx_runtime.host.under_way import UnderWay
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.presence import Hint
from flowx_runtime.journal.records import Claimant, Claimed, InstanceRow, Refused
from flowx_runtime.outbox.loop import PublishingLoop
from flowx_runtime.scheduler.sweeps import Sweeps

T = TypeVar("T")

_LOG = logging.getLogger("flowx.host")


class GoingOn:
    """What calls of the host and its sweeps have in common: each gives claimed instances to this.

    Args:
        plans: what this node can run.
        engine: how; its hints come here.
        journal: where the instances are, if the host keeps any.
        claimant: this node.
        clock: by which waits are recorded.
        is_sweeping: whether this node looks for what falls due by itself.
    """

    def __init__(
        self,
        plans: Plans,
        engine: Engine,
        journal: Journal | None,
        claimant: Claimant,
        *,
        clock: Clock,
        is_sweeping: bool,
    ) -> None:
        self._plans = plans
        self._engine = engine
        engine.on_hint = self.hint
        self.peers = Peers(journal, claimant.owner, on_hint=self.heed, clock=clock)
        """The other nodes."""
        self._journal = journal
        self._is_sweeping = is_sweeping
        self.claimant = claimant
        self.sweeps: Sweeps | None = None
        """Set once they are there: they give what they find to this."""
        self.publishing: PublishingLoop | None = None
        self.stopping = asyncio.Event()
        """The host is being left."""
        self.under_way = UnderWay()
        self.not_runnable: Counter[tuple[str, str, str]] = Counter()
        """How often a sweep met an instance whose (flow, version, plan digest) this node does not have."""

    @property
    def journal(self) -> Journal:
        """Where the instances are.

        Raises:
            DurabilityNotConfigured: this host keeps none.
        """
        if self._journal is None:
            raise DurabilityNotConfigured("this host has no journal, so it keeps no instances")
        return self._journal

    @asynccontextmanager
    async def work(self, *, is_new: bool = True) -> AsyncIterator[None]:
        """Be under way, so that leaving the host waits for it.

        Raises:
            HostClosed: the host is being left, and this is new.
            JournalUnavailable: it was left before this had ended.
        """
        if is_new and self.stopping.is_set():
            raise HostClosed("this host has been left; start another one")
        async with self.under_way.run():
            yield

    async def holding(self, asked: Coroutine[Any, Any, T]) -> T:
        """What a call answers that may give a lease; where its caller is cancelled meanwhile, the lease is given back.

        Otherwise nobody would know of it until it runs out.
        """
        context = copy_context()
        task = asyncio.get_running_loop().create_task(asked, context=context)
        try:
            answer = await asyncio.shield(task)
        except asyncio.CancelledError:
            self._engine.detach(self._give_back(task))
            raise
        for variable, value in context.items():  # as if it had been awaited by itself
            if variable.get(None) is not value:
                variable.set(value)
        return answer

    async def _give_back(self, asked: asyncio.Task[Any]) -> None:
        await asyncio.wait([asked])
        if asked.cancelled() or asked.exception() is not None:
            return
        lease = getattr(asked.result(), "lease", None)
        if lease is not None:
            with suppress(JournalUnavailable):  # then it runs out
                await self.journal.release(lease.instance_id, fencing_token=lease.fencing_token)
            self.hint()

    def has_plan(self, instance: InstanceRow) -> bool:
        """Whether this node has the very plan that an instance is pinned to, and so can go on with it."""
        plan = self._plans.find(instance.flow_id, instance.flow_version)
        return plan is not None and plan.digest == instance.plan_digest

    def can_run(self, claimed: Claimed) -> bool:
        """As `has_plan`; logged once where it has not."""
        instance = claimed.history.instance
        if self.has_plan(instance):
            return True
        key = (instance.flow_id, instance.flow_version, instance.plan_digest)
        if key not in self.not_runnable:
            _LOG.warning("%s", not_runnable(instance))
        self.not_runnable[key] += 1
        return False

    async def claim(self, instance_id: UUID) -> Claimed | Refused:
        """Claim an instance for this node."""
        return await self.holding(self.journal.claim(instance_id, owner=self.claimant.owner, ttl=self.claimant.ttl))

    async def go_on(self, claimed: Claimed) -> None:
        """Run an instance that a sweep has claimed until it parks or ends."""
        async with self.work(is_new=False):
            await self.proceed(claimed)

    async def proceed(self, claimed: Claimed, *, caller: Caller | None = None, input: Any = None) -> Ended | None:
        """Run an instance, then the parents that its end wakes; gives the instance's own end."""
        instance = claimed.history.instance
        plan = self._plans.exactly(instance.flow_id, instance.flow_version)
        ended = await self._engine.proceed(plan, claimed.history, claimed.lease, caller=caller, input=input)
        if self.publishing is not None:
            self.publishing.drain.hint()
        elif self._plans.stages_events(plan):
            self.peers.have_them_publish()
        if ended is None:
            return None
        if ended.waits:
            self.expect(min(wait.wake_at for wait in ended.waits))
        if ended.parent_instance_id is not None:
            await self._go_on_with_parent(ended.parent_instance_id)
        return ended

    async def go_on_or_leave(self, claim: Claimed) -> None:
        """Run an instance that somebody else has woken; one that cannot be read here is no fault of theirs."""
        if not self.can_run(claim):
            await self.leave_to_peers(claim)
            return
        try:
            await self.proceed(claim)
        except UNREADABLE as error:
            await self.set_back(claim, error)

    async def set_back(self, claim: Claimed, error: Exception) -> None:
        """Keep why an instance could not go on; sweeps try it again."""
        assert self.sweeps is not None, "what was claimed is in a journal, and a host with one sweeps"
        await self.sweeps.set_back(claim, error)

    async def leave_to_peers(self, claim: Claimed) -> None:
        """Give an instance back that may go on, and that this node has no plan of."""
        await self.journal.release(claim.lease.instance_id, fencing_token=claim.lease.fencing_token)
        self.peers.have_them_look()

    def expect(self, wake_at: datetime) -> None:
        """See to it that what was parked until then is looked for then, by this node or another."""
        if self.sweeps is not None:
            self.sweeps.expect(wake_at)
        if not self._is_sweeping or self.stopping.is_set():
            self.peers.have_them_expect(wake_at)

    def hint(self) -> None:
        """There may be work right now, for this node or another."""
        if self.sweeps is not None:
            self.sweeps.hint()
        if not self._is_sweeping:
            self.peers.have_them_look()

    def heed(self, hint: Hint) -> None:
        """Act on what another node has said."""
        if self.sweeps is not None:
            if hint.is_ready:
                self.sweeps.hint()
            for wake_at in hint.wakes:
                self.sweeps.expect(wake_at)
        if self.publishing is not None and hint.has_events:
            self.publishing.drain.hint()

    async def _go_on_with_parent(self, instance_id: UUID) -> None:
        if self.stopping.is_set():
            self.peers.have_them_look()
            return
        claim = await self.claim(instance_id)
        if not isinstance(claim, Refused):
            await self.go_on_or_leave(claim)
