"""What a service holds to run flows."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Final
from uuid import UUID, uuid4

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.authoring.messages import signal_declaration
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.engine.authority import NotAuthenticated, refusal_at_start
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.clock import Clock, Pause, SystemClock, Timers, pause_for_real
from flowx_runtime.engine.documents import VALUE_LIMIT, Documents, shown
from flowx_runtime.engine.engine import UNREADABLE, Engine
from flowx_runtime.engine.identity import mint_id, started_id
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.engine.observed import observed_call, observed_journal
from flowx_runtime.engine.replay import Replayed, replay
from flowx_runtime.engine.unbegun import leave_unbegun
from flowx_runtime.engine.waiting import wait_at_start
from flowx_runtime.host.cancelling import cancel
from flowx_runtime.host.errors import (
    CallerNotAuthenticated,
    CallerNotPermitted,
    DurabilityNotConfigured,
    FlowPaused,
    HostClosed,
    IdempotencyConflict,
    InputMismatch,
    NaiveClock,
    NotASignal,
    NothingToRetry,
    ProfileIsNotDurable,
    UnknownInstance,
)
from flowx_runtime.host.given import checked_delivery_id, checked_duration, checked_id, checked_text
from flowx_runtime.host.going_on import GoingOn
from flowx_runtime.host.occurrences import OccurrenceStarts, scheduled_in
from flowx_runtime.host.outcome import Outcome
from flowx_runtime.host.plans import AnyPlan, Plans, uses_of
from flowx_runtime.host.retrying import due_now
from flowx_runtime.host.telling import not_runnable, outcome_in, outcome_of, refusal, why_nothing_is_retried
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.pauses import holds, said_of_pause
from flowx_runtime.journal.records import (
    Claimant,
    Claimed,
    Delivery,
    History,
    InstanceRow,
    NewInstance,
    Refusal,
    Refused,
    State,
)
from flowx_runtime.outbox.drain import Drain
from flowx_runtime.outbox.loop import PublishingLoop
from flowx_runtime.outbox.publisher import Publisher
from flowx_runtime.outbox.settings import PublishCounts, Publishing
from flowx_runtime.plan.catalog import Catalog
from flowx_runtime.scheduler.cron.schedules import Schedules
from flowx_runtime.scheduler.renewal import Renewal
from flowx_runtime.scheduler.sweeps import Sweeps
from flowx_runtime.telemetry.contract import Counts, Telemetry

_LOG = logging.getLogger("flowx.host")

_LAST_WORDS: Final = 5.0
"""Seconds that what was cancelled may take to end."""


class FlowHost:
    """Starts, signals, inspects and resumes flows; goes on with parked ones while it is entered.

    ::

        async with FlowHost(plans=CATALOG, capabilities=[UploadToOcr(ocr)], journal=journal) as host:
            outcome = await host.run("document.process", SubmitDocument(...), idempotency_key="doc-001")

    Durations are `timedelta`s, or texts as in a flow (`"PT10S"`).

    Args:
        plans: the generated `CATALOG`, or plans.
        capabilities: an instance (or a factory) of every capability class that the plans use. Functions need none.
        journal: where durable flows are kept. The host closes it when it is left.
        clock: by which waits are recorded and deadlines judged.
        owner: this node's name in leases, for people: machine and process by default. What makes it unique is added.
        sweep_interval: how often to look for instances that may go on, at most; `None` leaves it to `sweep_once`.
        lease_ttl: how long a node that dies keeps its instances from others.
        drain: how long leaving waits for runs that are under way.
        concurrency: how many parked instances this node goes on with at a time.
        substitutes: by capability id, a callable `(request, ctx)` that answers instead; for tests.
        pause: how to wait for less than a second between two attempts.
        timers: what judges timeouts and circuit breakers.
        random: where jitter comes from.
        catch_up: how long after it was due an occurrence of a schedule may still start; what is older is lost, and
            reported.
        key_ring: what seals `Sensitive` members where instances are stored; without one they are redacted there, and
            a step that needs one after a resume fails.
        publisher: where staged events go while the host is entered; without one they stay staged. The host closes it.
        publishing: how it publishes.
        telemetry: takes traces and measurements, such as `flowx_runtime.telemetry.opentelemetry.OpenTelemetry()`.
        value_limit: bytes of JSON of the largest value that is stored: an input, a result, a signal, an event. A step
            whose result is larger fails; a start or a signal that is, is refused.

    Raises:
        FlowxError: a plan is stale, a capability instance is missing, given twice or unknown, a schedule or its time
            zone cannot be read, or the clock gives instants without a time zone.
    """

    def __init__(
        self,
        plans: Catalog | Iterable[AnyPlan],
        capabilities: Iterable[Any] = (),
        *,
        journal: Journal | None = None,
        clock: Clock | None = None,
        owner: str | None = None,
        sweep_interval: timedelta | str | None = timedelta(seconds=10),
        lease_ttl: timedelta | str = timedelta(seconds=30),
        drain: timedelta | str = timedelta(seconds=30),
        concurrency: int = 256,
        substitutes: Mapping[str, Callable[..., Any]] | None = None,
        pause: Pause = pause_for_real,
        timers: Timers | None = None,
        random: Random | None = None,
        key_ring: KeyRing | None = None,
        catch_up: timedelta | str = timedelta(days=1),
        publisher: Publisher | None = None,
        publishing: Publishing | None = None,
        telemetry: Telemetry | None = None,
        value_limit: int = VALUE_LIMIT,
    ) -> None:
        sweep_interval = None if sweep_interval is None else checked_duration("sweep_interval", sweep_interval)
        lease_ttl, drain = checked_duration("lease_ttl", lease_ttl), checked_duration("drain", drain)
        catch_up = checked_duration("catch_up", catch_up)
        self._plans = Plans(plans)
        self._telemetry = telemetry
        calls = Capabilities(
            capabilities, substitutes, around=None if telemetry is None else partial(observed_call, telemetry)
        )
        self._plans.keep_retired_that_pass(lambda plan: calls.check(uses_of(plan), may_be_unused=True))
        calls.check(self._plans.uses(), may_be_unused=bool(self._plans.set_aside))
        self._journal = journal
        self._documents = Documents(key_ring, value_limit)
        self._clock = clock or SystemClock()
        if self._clock.now().utcoffset() is None:
            raise NaiveClock(
                f"{type(self._clock).__name__}.now() gives an instant without a time zone, which no stored instant "
                "can be compared with: return `datetime.now(UTC)`"
            )
        # Of two processes of one name, neither must take the other's leases for its own.
        self._owner = f"{owner or f'{socket.gethostname()}/{os.getpid()}'}/{uuid4().hex[:8]}"
        self._lease_ttl = lease_ttl
        self._claimant = Claimant(self._owner, lease_ttl)
        self._interval = sweep_interval
        self._drain = drain
        self._is_entered = False
        self._is_closed = False
        self._loops: list[asyncio.Task[None]] = []
        self._renewing: asyncio.Task[None] | None = None
        self._engine = Engine(
            capabilities=calls,
            plan_for=self._plans.exactly,
            clock=self._clock,
            journal=journal if journal is None or telemetry is None else observed_journal(journal, telemetry),
            owner=self._owner,
            lease_ttl=lease_ttl,
            pause=pause,
            random=random,
            documents=self._documents,
            timers=timers,
            application=self._plans.application,
            telemetry=telemetry,
        )
        self._going_on = GoingOn(
            self._plans,
            self._engine,
            journal,
            self._claimant,
            clock=self._clock,
            is_sweeping=sweep_interval is not None,
        )
        self._peers = self._going_on.peers
        self._stopping = self._going_on.stopping
        self._under_way = self._going_on.under_way
        self._sweeps: Sweeps | None = None
        if journal is not None:
            self._sweeps = Sweeps(
                journal,
                self._going_on,
                clock=self._clock,
                owner=self._owner,
                lease_ttl=lease_ttl,
                plans=self._plans.versions | self._plans.set_aside,  # the latter to be counted
                interval=sweep_interval or timedelta(0),
                concurrency=concurrency,
                random=random or Random(),
                on_woken=_tell_nobody if telemetry is None else telemetry.woken,
            )
            self._going_on.sweeps = self._sweeps
        self._schedules = self._scheduling(catch_up, random or Random())
        self._publishing: PublishingLoop | None = None
        if publisher is not None:
            draining = Drain(self._any_journal(), publisher, owner=self._owner, settings=publishing, random=random)
            self._publishing = self._going_on.publishing = PublishingLoop(draining)
        if telemetry is not None:
            telemetry.counts(self._counts)

    async def __aenter__(self) -> FlowHost:
        if self._stopping.is_set():
            raise HostClosed("this host has been left; make another one")
        if self._is_entered:
            raise HostClosed("this host has been entered already; make another one, or share this one")
        self._is_entered = True
        if self._schedules is not None:
            await self._schedules.try_to_register()
        if self._journal is not None:
            renewal = Renewal(
                self._journal,
                self._engine.held,
                owner=self._owner,
                lease_ttl=self._lease_ttl,
                on_lost=_tell_nobody if self._telemetry is None else self._telemetry.leases_lost,
            )
            self._renewing = asyncio.create_task(renewal.run(), name="flowx lease renewal")
        if self._sweeps is not None and self._interval is not None:
            self._loops = [asyncio.create_task(self._sweeps.run(self._stopping), name="flowx sweeps")]
            if self._schedules is not None and self._schedules.is_needed:
                self._loops.append(asyncio.create_task(self._schedules.run(self._stopping), name="flowx schedules"))
            self._peers.appear()
        if self._publishing is not None:
            self._publishing.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Take nothing more, let what is under way park or end, give back what has not, and close the journal.

        What has not ended within the drain time is cancelled before it is given back, and whoever waits for it gets
        `JournalUnavailable`. Other nodes are told, so that they go on at once with what this one leaves. Closing twice
        is harmless.
        """
        if self._is_closed:
            return
        self._stopping.set()
        if self._sweeps is not None:
            self._sweeps.hint()
        until = time.monotonic() + self._drain.total_seconds()
        resting = asyncio.create_task(self._come_to_rest())
        has_leases = False
        try:
            await asyncio.wait([resting], timeout=self._drain.total_seconds())
        finally:
            if not resting.done():
                resting.cancel()
                has_leases = bool(self._engine.held)
                await self._break_off()
            if self._publishing is not None:  # last, when no run stages events any more
                await self._publishing.end(within=timedelta(seconds=until - time.monotonic()))
            for loop in self._loops:
                loop.cancel()
            if self._loops:
                # Sweeps wait for what they took up, and what is still at work has had its time.
                await asyncio.wait(self._loops, timeout=_LAST_WORDS / 10 if self._under_way else _LAST_WORDS)
            self._loops = []
            if self._renewing is not None:  # a run that takes until now has kept its lease
                self._renewing.cancel()
                await asyncio.gather(self._renewing, return_exceptions=True)
            await self._peers.leave(has_leases=has_leases or bool(self._engine.held))
            self._is_closed = True
            if self._journal is not None:
                await self._journal.close()

    @property
    def current_plans(self) -> tuple[AnyPlan, ...]:
        """The plan of each flow that a new instance starts under."""
        return tuple(self._plans.all_current)

    def find_plan(self, flow_id: str, version: str) -> AnyPlan | None:
        """The plan of exactly this version, if this host has it."""
        return self._plans.find(flow_id, version)

    async def run(
        self,
        plan: AnyPlan | str,
        input: Any,
        *,
        idempotency_key: str | None = None,
        instance_id: UUID | None = None,
        tenant_id: str | None = None,
        caller: Caller | None = None,
        correlation_id: str = "",
    ) -> Outcome:
        """Start a flow and run it until it ends or parks.

        With an idempotency key the instance is derived from (flow, tenant, key): a repeated start starts nothing and
        gives the present outcome of the one there is. While the flow is paused the start is accepted, and is
        `Suspended`: its first step runs when that is over. Then it has the input as it was stored: without a key ring,
        an input with `Sensitive` members is refused instead.

        Args:
            plan: the plan, or the flow's id.
            input: of the flow's input contract.
            idempotency_key: what makes a repeated start the same one.
            instance_id: the instance's id, where the caller of this method chooses it.
            tenant_id: whose it is.
            caller: who asks from outside. Without one it is the application itself, which may start anything.
            correlation_id: what ties this to other records.

        Raises:
            CallerNotAuthenticated: the caller has to sign in.
            CallerNotPermitted: a step needs a permission that the caller lacks.
            FlowPaused: the flow is paused, and its input would not be kept whole.
            ValueNotKept: the input would not come back from JSON as what it is.
            ValueTooLarge: the input is over the host's `value_limit`.
            FlowxError: it cannot start; no step has run.
            JournalUnavailable: the outcome is unknown; with a key, starting again is safe.
        """
        found = self._plans.current(plan)
        checked_text("idempotency key", idempotency_key)
        checked_text("tenant id", tenant_id)
        checked_text("correlation id", correlation_id)
        if instance_id is not None:
            checked_id(instance_id)
        if not isinstance(input, found.input):
            raise InputMismatch(
                f"{found.flow_id!r} takes a {found.input.__name__}, not a {type(input).__name__}: build one first"
            )
        refused = refusal_at_start(found, caller, self._plans.find)
        if refused is not None:
            kind = CallerNotAuthenticated if isinstance(refused, NotAuthenticated) else CallerNotPermitted
            raise kind(str(refused))
        if found.profile is Profile.EPHEMERAL:
            if idempotency_key is not None:
                raise ProfileIsNotDurable(
                    f"{found.flow_id!r} is ephemeral, and an idempotency key needs a journal: make the flow durable"
                )
            async with self._going_on.work():
                minted = instance_id or mint_id(self._clock.now())
                return outcome_of(await self._engine.run_in_memory(found, input, instance_id=minted, caller=caller))
        journal = self._durable(found)
        if instance_id is None:
            instance_id = (
                mint_id(self._clock.now())
                if idempotency_key is None
                else started_id(found.flow_id, tenant_id, idempotency_key)
            )
        async with self._going_on.work():
            if not self._documents.keeps_whole(found.input):
                await self._refuse_what_is_not_kept(found, instance_id)
            now = self._clock.now()
            deadline = None if found.deadline is None else now + found.deadline
            started = await self._going_on.holding(
                journal.start(
                    NewInstance(
                        instance_id=instance_id,
                        flow_id=found.flow_id,
                        flow_version=found.version,
                        plan_digest=found.digest,
                        input=self._documents.stored(found.input, input, instance_id),
                        deadline_at=deadline,
                        correlation_id=correlation_id,
                        tenant_id=tenant_id,
                        parked=wait_at_start(found, now, deadline),
                    ),
                    owner=self._owner,
                    ttl=self._lease_ttl,
                )
            )
            if started.is_parked:
                self._engine.tell_parked(found, started.history.instance)
                self._going_on.expect(started.history.instance.waits[0].wake_at)
                return outcome_in(started.history, self._plans, self._documents)
            if started.lease is None:
                if not self._is_same_input(found, started.history.instance, input):
                    raise IdempotencyConflict(
                        f"instance {instance_id} was started with another input: use a new key for a new request"
                    )
                return outcome_in(started.history, self._plans, self._documents)
            claimed = Claimed(started.lease, started.history)
            if started.is_paused:
                await leave_unbegun(journal, claimed.lease)
                return outcome_in(started.history, self._plans, self._documents)
            ended = await self._going_on.proceed(claimed, caller=caller, input=input)
            return await self.outcome(instance_id) if ended is None else outcome_of(ended)

    async def signal(self, instance_id: UUID, message: Any, *, delivery_id: str | None = None) -> None:
        """Deliver a signal; if the instance waits for it, it goes on before this returns.

        A signal that comes before its wait opens is kept for it, and so is one for a flow that is paused, unless it
        has `Sensitive` members and this host no key ring. The same delivery id twice is one delivery.

        Raises:
            ValueNotKept: it would not come back from JSON as what it is.
            ValueTooLarge: it is over the host's `value_limit`.
            FlowPaused: the flow is paused, and the signal would not be kept whole.
            FlowxError: it is no signal, or the instance is unknown or has ended.
        """
        declared = signal_declaration(type(message))
        if declared is None:
            raise NotASignal(f"{type(message).__qualname__} is no signal: declare it with @signal")
        journal = self._any_journal()
        checked_delivery_id(delivery_id)
        payload = self._documents.stored(type(message), message, checked_id(instance_id))
        delivery = Delivery(delivery_id or uuid4().hex, declared.id, payload)
        async with self._going_on.work():
            if not self._documents.keeps_whole(type(message)):
                await self._refuse_what_a_pause_would_lose(instance_id, message)
            with self._engine.handing_over(instance_id, delivery.delivery_id, message):
                if not self._plans.versions:  # it can go on with nothing, and would only be in the way of who can
                    answer = await journal.deliver(instance_id, delivery)
                    self._peers.have_them_look()
                else:
                    answer = await self._going_on.holding(
                        journal.deliver(instance_id, delivery, claim_for=self._claimant)
                    )
                if isinstance(answer, Refused):
                    raise refusal(instance_id, answer)
                # Else, whoever holds it meets the delivery at its next park; a sweep does when a pause is over.
                if answer is not None:
                    await self._going_on.go_on_or_leave(answer)

    async def resume(self, instance_id: UUID) -> Outcome:
        """Go on with an instance now, if nobody else does; gives how it stands then.

        Raises:
            UnknownInstance: there is none.
            FlowPaused: it is paused.
            NotRunnable: this node lacks the plan it is pinned to.
            ValueUnreadable: something that is stored of it does not fit its contract any more; it stays as it is, may
                be cancelled, and goes on when the contract takes it again.
        """
        checked_id(instance_id)
        journal = self._any_journal()
        async with self._going_on.work():
            claim = await self._going_on.claim(instance_id)
            if isinstance(claim, Refused):
                if claim.reason is Refusal.UNKNOWN_INSTANCE:
                    raise refusal(instance_id, claim)
                await self._refuse_if_paused((await self.inspect(instance_id)).instance)
                return await self.outcome(instance_id)
            if not self._going_on.can_run(claim):
                await journal.release(instance_id, fencing_token=claim.lease.fencing_token)
                raise not_runnable(claim.history.instance)
            try:
                ended = await self._going_on.proceed(claim)
            except UNREADABLE as error:
                await self._going_on.set_back(claim, error)
                raise
            return await self.outcome(instance_id) if ended is None else outcome_of(ended)

    async def retry(self, instance_id: UUID, by: str = "") -> Outcome:
        """Try again, now, what of an instance failed and may be tried again; gives how it stands then.

        One that ended CompensationFailed goes back once more: the undos that failed have all their attempts anew, and
        a row says by whom it was reopened. It ends as it would have if they had not failed; its steps are not run
        again. One that is parked until the next attempt at a step makes that attempt now; every other wait stays.

        Args:
            instance_id: the instance.
            by: who wants it.

        Raises:
            UnknownInstance: there is none.
            NothingToRetry: nothing of it may be tried again, or somebody works on it.
            FlowPaused: it is paused; nothing has changed.
            NotRunnable: this node lacks the plan it is pinned to; nothing has changed.
        """
        checked_text("name of who retries", by)
        history = await self.inspect(instance_id)
        instance = history.instance
        if not self.has_plan(instance):
            raise not_runnable(instance)
        journal = self._any_journal()
        async with self._going_on.work():
            if instance.state in (State.COMPENSATION_FAILED, State.SUSPENDED):
                await self._refuse_if_paused(instance)
            if instance.state is State.COMPENSATION_FAILED:
                # Where another was quicker, this one has nothing left to do.
                reopened = await self._going_on.holding(journal.reopen(instance_id, by, claim_for=self._claimant))
                ended = await self._going_on.proceed(reopened) if isinstance(reopened, Claimed) else None
                return await self.outcome(instance_id) if ended is None else outcome_of(ended)
            if instance.state is not State.SUSPENDED:
                raise NothingToRetry(why_nothing_is_retried(instance))
            claim = await self._going_on.claim(instance_id)
            if isinstance(claim, Refused):
                raise NothingToRetry(f"instance {instance_id} is being worked on at this moment: look again")
            plan = self._plans.exactly(instance.flow_id, instance.flow_version)
            forward = await due_now(plan, claim, journal, self._clock.now())
            if forward is None:
                await journal.release(instance_id, fencing_token=claim.lease.fencing_token)
                raise NothingToRetry(why_nothing_is_retried(claim.history.instance))
            ended = await self._going_on.proceed(forward)
            return await self.outcome(instance_id) if ended is None else outcome_of(ended)

    async def cancel(self, instance_id: UUID, reason: str = "") -> Outcome:
        """Stop an instance, undo what it has done and end it Cancelled; gives how it stands then.

        The request is stored first, so that it is met whatever happens to this host. A parked instance goes back at
        once, with the inline children it waits for; one that is being worked on does at its next boundary, after the
        step that is under way; one that is paused, when that is over. One that is going back already, or completes
        before it comes to a boundary, ends as it would have. Asking again is harmless, and the first reason stays.

        Raises:
            UnknownInstance: there is none.
            InstanceTerminal: it has ended otherwise.
        """
        checked_id(instance_id)
        async with self._going_on.work():
            await cancel(self._going_on, instance_id, reason)
            return await self.outcome(instance_id)

    async def _refuse_what_is_not_kept(self, plan: AnyPlan, instance_id: UUID) -> None:
        """Let nothing wait for the end of a pause that will lack then what its steps need."""
        held = await self._pause_of(plan.flow_id)
        if held is not None and await self._any_journal().read(instance_id) is None:
            raise FlowPaused(
                f"{held}; until then a {plan.input.__name__} would wait without its sensitive members: start it "
                "afterwards, or give the host a key ring"
            )

    async def _refuse_what_a_pause_would_lose(self, instance_id: UUID, message: Any) -> None:
        """Likewise for a message: nobody who has it as it is takes it up before the pause is over."""
        history = await self._any_journal().read(instance_id)
        if history is None or history.instance.state.is_terminal:
            return  # refused for that
        held = await self._pause_of(history.instance.flow_id, instance_id)
        if held is not None:
            raise FlowPaused(
                f"{held}; until then a {type(message).__name__} would wait without its sensitive members: send it "
                "afterwards, or give the host a key ring"
            )

    async def _pause_of(self, flow_id: str, instance_id: UUID | None = None) -> str | None:
        for pause in await self._any_journal().pauses():
            if holds((pause.target,), flow_id, instance_id):
                return said_of_pause(pause)
        return None

    async def _refuse_if_paused(self, instance: InstanceRow) -> None:
        held = await self._pause_of(instance.flow_id, instance.instance_id)
        if held is not None:
            raise FlowPaused(held)

    async def outcome(self, instance_id: UUID) -> Outcome:
        """How an instance stands; takes no lease."""
        return outcome_in(await self.inspect(instance_id), self._plans, self._documents)

    async def inspect(self, instance_id: UUID) -> History:
        """The instance and its rows.

        Raises:
            UnknownInstance: there is none.
        """
        history = await self._any_journal().read(checked_id(instance_id))
        if history is None:
            raise UnknownInstance(f"the journal has no instance {instance_id}")
        return history

    async def replay(self, instance_id: UUID) -> Replayed:
        """Walk an instance's history again, without any effect, with the plan this host has of its flow and version.

        Says whether today's plan and code take the same path: the same rows, requests, events, undos and output; or
        where they first leave it. Only reads. Of a flow whose version is gone, the current one is walked.

        Raises:
            UnknownInstance: there is none.
            UnknownPlan: the host has no plan of the flow.
        """
        history = await self.inspect(instance_id)
        instance = history.instance
        plan = self._plans.find(instance.flow_id, instance.flow_version) or self._plans.current(instance.flow_id)
        return await replay(
            plan, history, journal=self._any_journal(), documents=self._documents, plan_for=self._plans.exactly
        )

    async def sweep_once(self) -> int:
        """Go on with everything that may go on now: due, signalled or abandoned. Gives how many were taken up.

        What schedules owe by now is started first.
        """
        if self._sweeps is None:
            return 0
        async with self._going_on.work():
            fired = 0
            if self._schedules is not None and self._schedules.is_needed:
                fired = await self._schedules.fire_due()
            return fired + await self._sweeps.sweep_once()

    async def next_occurrence(self) -> datetime | None:
        """When a schedule of this host next has something to start; `None` where it has no schedules.

        In the past where that is overdue. Under a virtual clock: move there, then `sweep_once`.
        """
        return None if self._schedules is None else await self._schedules.next_due()

    @property
    def not_runnable(self) -> Counter[tuple[str, str, str]]:
        """How often a sweep met an instance whose (flow, version, plan digest) this node does not have."""
        return self._going_on.not_runnable

    @property
    def schedule_counts(self) -> Counter[tuple[str, str]]:
        """By (flow, what): how many occurrences this node noted as `fired`, `skipped` and `lost`."""
        return Counter() if self._schedules is None else self._schedules.reports.counts

    async def publish_once(self) -> int:
        """Publish every event that may be published now; gives how many were. None are without a publisher."""
        return 0 if self._publishing is None else await self._publishing.drain.drain_once()

    @property
    def publish_counts(self) -> PublishCounts:
        """What this host has published so far."""
        return PublishCounts() if self._publishing is None else self._publishing.drain.counts

    def has_plan(self, instance: InstanceRow) -> bool:
        """Whether this node has the very plan that an instance is pinned to, and so can go on with it."""
        return self._going_on.has_plan(instance)

    def _counts(self) -> Counts:
        not_runnable: Counter[tuple[str, str]] = Counter()
        for (flow_id, version, _), count in self.not_runnable.items():
            not_runnable[flow_id, version] += count
        published = self.publish_counts
        events = {"published": published.published, "failed": published.failed, "poisoned": published.poisoned}
        return Counts(not_runnable, self.schedule_counts, events, self._engine.long_histories.counts)

    async def _come_to_rest(self) -> None:
        await self._under_way.come_to_rest()
        await self._engine.drain()
        if self._loops:
            await asyncio.wait(self._loops)

    async def _break_off(self) -> None:
        """Cancel what is under way: whoever goes on with it must not do so beside this node."""
        if self._under_way:
            _LOG.warning("left while %s runs were under way; they go on elsewhere", len(self._under_way))
        self._engine.break_off()
        self._under_way.break_off()
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._under_way.come_to_rest()
                await self._engine.drain()
        except TimeoutError:
            _LOG.error(
                "left though these instances would not stop when they were cancelled: %s; what their steps still do "
                "may be done by another node as well",
                ", ".join(map(str, self._engine.held)) or "none in the journal",
            )

    def _scheduling(self, catch_up: timedelta, random: Random) -> Schedules | None:
        """What fires the schedules of this host's flows; they are checked whether there is a journal or not."""
        scheduled = list(scheduled_in(self._plans))
        if self._journal is None or self._sweeps is None:
            for each in scheduled:
                _LOG.warning("%s has a schedule and this host has no journal: it does not fire here", each.flow_id)
            return None
        starts = OccurrenceStarts(
            self._plans,
            self._journal,
            self._sweeps,
            self._documents,
            clock=self._clock,
            owner=self._owner,
            lease_ttl=self._lease_ttl,
            is_open=lambda: not self._stopping.is_set(),
        )
        return Schedules(
            self._journal,
            starts,
            scheduled,
            {plan.flow_id: plan.version for plan in self._plans.all_current},
            clock=self._clock,
            interval=self._interval,
            catch_up=catch_up,
            random=random,
        )

    def _durable(self, plan: AnyPlan) -> Journal:
        if self._journal is None:
            raise DurabilityNotConfigured(
                f"{plan.flow_id!r} is durable and this host has no journal: open one, for example "
                "`journal=await PostgresJournal.open(dsn)`"
            )
        return self._journal

    def _any_journal(self) -> Journal:
        if self._is_closed:
            raise HostClosed("this host has been left; make another one")
        return self._going_on.journal

    def _is_same_input(self, plan: AnyPlan, instance: InstanceRow, input: Any) -> bool:
        """Whether a repeated start repeats the input; of what is redacted, that it was given is all that is known."""
        stored, found = instance.input, instance.instance_id
        mine = self._documents.stored(plan.input, input, found)
        if self._documents.is_sealed(stored) and self._documents.is_sealed(mine):
            return bool(self._documents.restored(plan.input, stored, found) == input)
        return shown(stored) == shown(mine)


def _tell_nobody(_: object) -> None:
    return None
