"""Runs an instance until it parks or ends."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.clock import Clock, Pause, Timers, pause_for_real
from flowx_runtime.engine.documents import Documents, ValueUnreadable
from flowx_runtime.engine.ended import Ended
from flowx_runtime.engine.failures import (
    CANCELLED,
    DEADLINE_EXCEEDED,
    PROJECTION_FAILED,
    Disowned,
    FlowFailure,
    SignalArrived,
)
from flowx_runtime.engine.frame import Frame
from flowx_runtime.engine.guards import Guards
from flowx_runtime.engine.in_flight import LastSteps, finish_steps, may_be_in_flight
from flowx_runtime.engine.key_ring import KeyMissing, SealBroken
from flowx_runtime.engine.left_children import may_have_children, stop_children
from flowx_runtime.engine.live import Live, Sent
from flowx_runtime.engine.long_history import LongHistories
from flowx_runtime.engine.redaction import may_hold_secrets
from flowx_runtime.engine.session import Session
from flowx_runtime.engine.sub_flow import Children
from flowx_runtime.engine.unwind import Unwinder
from flowx_runtime.engine.walker import Walker
from flowx_runtime.journal.contract import Journal, JournalUnavailable
from flowx_runtime.journal.records import History, InstanceRow, Lease, StagedEvent, State, StoredError
from flowx_runtime.plan.plan import Plan
from flowx_runtime.telemetry.contract import FlowFacts, FlowRest, Telemetry

_LOG = logging.getLogger("flowx.engine")

UNREADABLE = (ValueUnreadable, KeyMissing, SealBroken)
"""What a stored value is that this node cannot read: the instance is at fault as little as the node is."""

AnyWalker = TypeVar("AnyWalker", bound=Walker)


class Engine:
    """Walks plans with the capabilities, clock and journal of one host."""

    def __init__(
        self,
        *,
        capabilities: Capabilities,
        plan_for: Callable[[str, str], Plan[Any, Any]],
        clock: Clock,
        journal: Journal | None,
        owner: str,
        lease_ttl: timedelta,
        pause: Pause = pause_for_real,
        random: Random | None = None,
        documents: Documents | None = None,
        timers: Timers | None = None,
        application: str = "",
        telemetry: Telemetry | None = None,
    ) -> None:
        self.documents = documents or Documents()
        self.owner = owner
        self.lease_ttl = lease_ttl
        self._journal = journal
        self._telemetry = telemetry
        self._clock = clock
        self._application = application
        self._guards = Guards(capabilities, timers)
        self._pause = pause
        self._random = random or Random()
        self.on_hint: Callable[[], None] = lambda: None
        """Takes what `hint` says."""
        self._detached: set[asyncio.Task[Any]] = set()
        self._held: dict[UUID, float] = {}
        self._live: dict[UUID, Live] = {}
        self._arriving: dict[Sent, Any] = {}
        self.long_histories = LongHistories()
        self._children = Children(self, journal=journal, now=clock.now, plan_for=plan_for)
        self._unwinder = Unwinder(
            clock=clock, capabilities=capabilities, plan_for=plan_for, pause=pause, random=self._random
        )

    @property
    def held(self) -> dict[UUID, float]:
        """The instances this engine is working on, and since when by the monotonic clock."""
        return self._held

    async def run_in_memory(
        self, plan: Plan[Any, Any], input: Any, *, instance_id: UUID, caller: Caller | None = None
    ) -> Ended:
        """Run an ephemeral flow to its end."""
        now = self._clock.now()
        session = Session(
            plan,
            instance_id=instance_id,
            input=input,
            started=now,
            deadline=None if plan.deadline is None else now + plan.deadline,
            caller=caller,
            documents=self.documents,
        )
        session.application = self._application
        return await self.run_session(session)

    async def proceed(
        self,
        plan: Plan[Any, Any],
        history: History,
        lease: Lease,
        *,
        caller: Caller | None = None,
        input: Any = None,
        live: Live | None = None,
        depth: int | None = None,
    ) -> Ended | None:
        """Go on with a leased instance until it parks or ends; `None` if it turned out to be somebody else's.

        Args:
            plan: the one the instance is pinned to.
            history: what the claim gave.
            lease: likewise.
            caller: who waits for the answer; `None` where the platform goes on by itself.
            input: the input itself, where this process has it; what is stored of it may say less.
            live: what else this process has, likewise.
            depth: how many inline parents it has, where that is known.

        Raises:
            JournalUnavailable: the instance is left as it is, for recovery.
            FlowxError: a stored value cannot be read here and today; it is left as it is.
        """
        assert self._journal is not None
        instance_id = lease.instance_id
        live = self._live[instance_id] = live or Live(arriving=self._arriving)
        since = self._held[instance_id] = time.monotonic()
        try:
            unreadable: FlowxError | None = None
            if input is None:
                try:
                    input = self.documents.restored(plan.input, history.instance.input, instance_id)
                except UNREADABLE as error:
                    unreadable = error
            while True:
                session = Session.of(
                    plan,
                    history,
                    input=input,
                    journal=self._journal,
                    fence=lease.fencing_token,
                    documents=self.documents,
                    live=live,
                )
                session.caller = caller
                session.long_histories = self.long_histories
                session.application = self._application
                session.depth = 0 if session.parent is None else depth
                try:
                    if unreadable is not None and session.error is None:
                        raise unreadable
                    return await self.run_session(session)
                except SignalArrived:
                    history = await self._read_again(instance_id)
                except UNREADABLE as error:
                    if session.error is not None:
                        raise
                    return await self._taken_back(session, error)
        except Disowned as disowned:
            _LOG.info("stopped working on instance %s: %s", instance_id, disowned)
            return None
        except JournalUnavailable:
            raise
        except BaseException:
            await asyncio.shield(self.detach(self._give_up(lease)))  # also where we are cancelled once more
            raise
        finally:
            # A run that lost its lease may still be under way when this node has taken the instance up anew.
            if self._held.get(instance_id) is since:
                del self._held[instance_id], self._live[instance_id]

    @contextmanager
    def handing_over(self, instance_id: UUID, delivery_id: str, message: Any) -> Iterator[None]:
        """Have at hand what is being delivered, for whichever run of this process takes it, now or later."""
        if not may_hold_secrets(type(message)):  # what is stored of it says all
            yield
            return
        sent = (instance_id, delivery_id)
        self._arriving[sent] = message
        try:
            yield
        finally:
            self._arriving.pop(sent, None)
            if instance_id in self._live:
                self._live[instance_id].signals[sent] = message

    def tell_parked(self, plan: Plan[Any, Any], instance: InstanceRow) -> None:
        """Report the first pass over an instance that was made parked: there was nothing to walk."""
        if self._telemetry is not None:
            with self._telemetry.going_on(_facts(plan, instance.instance_id, instance.tenant_id)) as tell:
                tell(FlowRest(instance.state, timedelta(0), None, None))

    async def _taken_back(self, session: Session, unreadable: FlowxError) -> Ended:
        """Go back with an instance of which something cannot be read, if it is to be cancelled or its time is up.

        Raises:
            FlowxError: it is not; what cannot be read today may be tomorrow.
        """
        walker = self._walker(Walker, session)
        stopped = walker.stopped()
        if stopped is None:
            raise unreadable
        return await self._fail(walker, Frame("", Bag(session.input, session.started)), stopped)

    async def run_session(self, session: Session) -> Ended:
        """One pass over a session.

        Raises:
            SignalArrived: it could not park; read the history again.
        """
        if self._telemetry is None:
            return await self._pass_over(session)
        with self._telemetry.going_on(_facts(session.plan, session.instance_id, session.tenant_id)) as tell:
            ended = await self._pass_over(session)
            error = ended.error
            code, category = (None, None) if error is None else (error.code, error.category)
            tell(FlowRest(ended.state, self._clock.now() - session.started, code, category))
            return ended

    async def _pass_over(self, session: Session) -> Ended:
        if session.error is not None:  # it is going back, also where it is parked until its children have ended
            return await self._unwind(session, session.error)
        if session.state is State.PENDING:
            await session.begin()
        elif may_be_in_flight(session, self._clock.now()):
            await finish_steps(self._walker(LastSteps, session))
        walker = self._walker(Walker, session)
        frame = Frame("", Bag(session.input, session.started))
        try:
            waits = await walker.walk(frame, 0, len(session.plan.nodes))
            if waits:
                await session.park(waits)
                if session.cancel_reason is not None:
                    self.hint()  # it was asked for while this pass went to its wait
                return Ended(session.instance_id, State.SUSPENDED, waits=waits)
            return await self._complete(walker, frame)
        except FlowFailure as failed:
            return await self._fail(walker, frame, failed)

    def _walker(self, kind: type[AnyWalker], session: Session) -> AnyWalker:
        return kind(
            session,
            clock=self._clock,
            guards=self._guards,
            random=self._random,
            pause=self._pause,
            children=self._children,
        )

    def detach(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        """Run something nobody has to wait for; `drain` does."""
        task = asyncio.ensure_future(work)
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)
        return task

    def hint(self) -> None:
        """Say that there may be work for whoever looks for it."""
        self.on_hint()

    async def drain(self) -> None:
        """Wait for everything that was detached."""
        while self._detached:
            await asyncio.wait(set(self._detached))

    def break_off(self) -> None:
        """Cancel everything that was detached."""
        for task in self._detached:
            task.cancel()

    async def _complete(self, walker: Walker, frame: Frame) -> Ended:
        session, plan = walker.session, walker.session.plan
        output, output_json = None, None
        if plan.returns is not None:
            returns, contract = plan.returns, plan.output
            output = walker.ask(returns, frame.bag, PROJECTION_FAILED)
            if session.is_durable and contract is not None:
                output_json = walker.ask(lambda _: session.stored(contract, output), frame.bag, PROJECTION_FAILED)
        await session.end(State.COMPLETED, output=output_json)
        return self._ended(session, State.COMPLETED, output=output, output_json=output_json)

    async def _fail(self, walker: Walker, frame: Frame, failed: FlowFailure) -> Ended:
        """Write the failing row and the turn backwards as one, then go back."""
        session = walker.session
        if failed.row is not None:
            session.record(failed.row, taken=failed.taken)
        session.stage(self._failure_events(walker, frame, failed.error))
        if not session.undo_stack and not may_have_children(session):
            state = _final_state(session, failed.error, is_clean=True)
            await session.end(state, error=failed.error)
            return self._ended(session, state, error=failed.error)
        await session.unwind_from(failed.error)
        return await self._unwind(session, failed.error)

    async def _unwind(self, session: Session, error: StoredError) -> Ended:
        if may_have_children(session):
            assert self._journal is not None
            waits = await stop_children(session, self._journal, now=self._clock.now, on_cancel=self.hint)
            if waits:
                await session.park(waits)
                return Ended(session.instance_id, State.SUSPENDED, waits=waits)
        is_clean = await self._unwinder.unwind(session)
        state = _final_state(session, error, is_clean=is_clean)
        await session.end(state, error=error)
        return self._ended(session, state, error=error)

    def _failure_events(self, walker: Walker, frame: Frame, error: StoredError) -> list[StagedEvent]:
        """The events of `emit_on_failure`; one that cannot be made must not hide why the flow failed."""
        events: list[StagedEvent] = []
        view = Frame("", frame.bag.failing_with(error))
        for emit in walker.session.plan.on_failure:
            try:
                events.append(walker.event(view, emit))
            except FlowFailure as unmade:
                _LOG.error(
                    "instance %s failed with %s, and its event %s could not be made: %s",
                    walker.session.instance_id,
                    error.code,
                    emit.event.id,
                    unmade.error.detail,
                )
        return events

    @staticmethod
    def _ended(session: Session, state: State, **parts: Any) -> Ended:
        parent = None if session.parent is None else session.parent.instance_id
        return Ended(session.instance_id, state, has_undone=bool(session.undone), parent_instance_id=parent, **parts)

    async def _read_again(self, instance_id: UUID) -> History:
        assert self._journal is not None
        history = await self._journal.read(instance_id)
        assert history is not None, "an instance that was just written is in the journal"
        return history

    async def _give_up(self, lease: Lease) -> None:
        """Let somebody else go on at once; if that cannot be said, the lease runs out."""
        assert self._journal is not None
        try:
            await self._journal.release(lease.instance_id, fencing_token=lease.fencing_token)
        except Exception:  # the reason we stop is worth more than this one
            _LOG.warning("the lease on instance %s could not be given up and runs out", lease.instance_id)


def _facts(plan: Plan[Any, Any], instance_id: UUID, tenant_id: str | None) -> FlowFacts:
    return FlowFacts(plan.flow_id, plan.version, plan.profile.value, instance_id, tenant_id)


def _final_state(session: Session, error: StoredError, *, is_clean: bool) -> State:
    if not is_clean:
        return State.COMPENSATION_FAILED
    # A cancelled child fails its parent with the same code; the parent itself was not cancelled.
    if error.code == CANCELLED and session.cancel_reason is not None:
        return State.CANCELLED
    return State.TIMED_OUT if error.code == DEADLINE_EXCEEDED else State.FAILED
