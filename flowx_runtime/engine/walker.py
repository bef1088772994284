"""The step loop. Resuming is the same loop from the first node: what is committed is passed, not done again.

As the walk passes a committed row, the row's result goes into the bag and the row's clock becomes the bag's; every
predicate, selector and map therefore sees what it saw when it was first asked.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, assert_never

from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine import composition, failures
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.capture import Capture
from flowx_runtime.engine.clock import Clock
from flowx_runtime.engine.codec import decode, encode
from flowx_runtime.engine.failures import FlowFailure, failure, stored_error
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.identity import event_id, idempotency_key
from flowx_runtime.engine.invocation import OpenTransaction, invoke
from flowx_runtime.engine.session import TIMED_OUT, Session
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.engine.undo import takes_result, undo_of_step
from flowx_runtime.engine.waits import PollFacts, Verdict, due_at, earliest, judge_poll
from flowx_runtime.journal.records import Captured, Delivery, RowOutcome, StagedEvent, StepRow, Wait
from flowx_runtime.plan.nodes import (
    AwaitSignal,
    Branch,
    Delay,
    Emit,
    Fail,
    ForEach,
    Jump,
    Lifted,
    Node,
    Parallel,
    Poll,
    Step,
    SubFlow,
    Switch,
)
from flowx_runtime.plan.plan import FailureEmit

if TYPE_CHECKING:
    from flowx_runtime.engine.sub_flow import Children

DELAY: Final = "flow.delay"
"""Capability id of the row by which a delay says that it is over."""


class Walker:
    """Walks the nodes of one session's plan."""

    def __init__(
        self,
        session: Session,
        *,
        clock: Clock,
        capabilities: Capabilities,
        random: Random,
        children: Children,
    ) -> None:
        self.session = session
        self._nodes = session.plan.nodes
        self._clock = clock
        self._capabilities = capabilities
        self._random = random
        self._children = children

    async def walk(self, frame: Frame, start: int, end: int) -> Waits:
        """Go from `start` to `end`; gives the open waits, or nothing if `end` was reached.

        Raises:
            FlowFailure: the flow fails here.
        """
        index = start
        while index < end:
            moved = await self._enter(frame, self._nodes[index])
            if not isinstance(moved, int):
                return moved
            index = moved
        return ()

    def check_deadline(self) -> None:
        """Fail a flow whose time is up, before it does or waits for anything more."""
        deadline = self.session.deadline
        if deadline is not None and self._clock.now() >= deadline:
            raise failure(
                failures.DEADLINE_EXCEEDED, Category.UNAVAILABLE, f"the flow had until {deadline.isoformat()}"
            )

    def ask(self, lifted: Lifted, bag: Bag, code: str) -> Any:
        """Evaluate a predicate, selector, map or projection; what it raises fails the flow."""
        try:
            return lifted(bag)
        except Exception as error:  # the author's code; its failure must still unwind the flow
            raise FlowFailure(stored_error(error, (bag.input,), code=code)) from error

    async def _enter(self, frame: Frame, node: Node) -> Moved:
        match node:
            case Step():
                return await self._step(frame, node)
            case Jump():
                return node.target
            case Branch():
                holds = self.ask(node.predicate, frame.bag, failures.PREDICATE_FAILED)
                return node.index + 1 if holds else node.otherwise
            case Switch():
                return self._switch(frame, node)
            case AwaitSignal():
                return await self._await_signal(frame, node)
            case Delay():
                return self._delay(frame, node)
            case Poll():
                return await self._poll(frame, node)
            case Emit():
                return self._emit(frame, node)
            case Fail():
                return self._fail(frame, node)
            case Parallel():
                return await composition.parallel(self, frame, node)
            case ForEach():
                return await composition.for_each(self, frame, node)
            case SubFlow():
                return await self._children.sub_flow(self, frame, node)
            case _:
                assert_never(node)

    def pass_row(self, frame: Frame, row: StepRow, contract: type[Any] | None) -> None:
        """Put what a committed row says into the bag."""
        if row.captured.utc_now is not None:
            frame.bag.utc_now = row.captured.utc_now
        if contract is not None and row.result is not None:
            frame.bag.put(contract, decode(contract, row.result))

    async def _step(self, frame: Frame, node: Step) -> Moved:
        row = self.session.done.get((frame.scope, node.index))
        if row is not None:
            self.pass_row(frame, row, node.capability.result)
            return node.index + 1
        self.check_deadline()
        await self._perform(frame, node, frame.scope)
        return node.index + 1

    async def _perform(self, frame: Frame, node: Step, scope: str) -> None:
        """Call a step's capability once and record how it ended. A cancelled call leaves no row."""
        session = self.session
        key = (scope, node.index)
        known = session.failed.get(key)
        if known is not None and known.error is not None:
            raise FlowFailure(known.error)
        use = node.capability
        if node.request is not None:
            request = self.ask(node.request, frame.bag, failures.MAP_FAILED)
        else:
            request = self.ask(lambda bag: bag.get(use.request), frame.bag, failures.VALUE_MISSING)
        await session.flush()
        now = self._clock.now()
        capture = Capture(now)
        frame.bag.utc_now = now
        transaction = self._transaction()
        context = StepRun(
            capture=capture,
            instance_id=session.instance_id,
            flow_id=session.plan.flow_id,
            capability_id=use.id,
            attempt=session.attempt_after(key),
            scope=scope,
            idempotency_key=idempotency_key(session.instance_id, frame.scope, node.name),
            deadline=session.deadline,
            principal=session.principal,
            step_transaction=None if transaction is None else transaction.join,
        )
        try:
            answer = await invoke(use, self._capabilities.call(use), request, context)
        except BaseException:
            if transaction is not None:
                await transaction.roll_back()
            raise
        error, kept_request, kept_result = answer.error, None, None
        if error is None and session.is_durable:
            try:
                kept_request, kept_result = _kept_request(node, request), _kept_result(use.result, answer.value)
            except Exception as unwritable:  # a value that JSON cannot carry is the capability's defect
                error = stored_error(unwritable, (request, answer.value), code=failures.WRONG_RESULT)
        row = StepRow(
            scope=scope,
            step_id=node.index,
            attempt=context.attempt,
            capability_id=use.id,
            outcome=RowOutcome.SUCCESS if error is None else RowOutcome.FAILURE,
            name=node.name,
            error=error,
            captured=capture.captured(),
            duration_ms=answer.duration_ms,
            request=kept_request,
            result=kept_result,
        )
        if error is not None:
            if transaction is not None:
                await transaction.roll_back()
            raise FlowFailure(error, row)
        if transaction is not None and transaction.is_open:
            await transaction.commit(session.commit_of(row))
            session.note_written(row)
        else:
            undo = undo_of_step(session.plan, session.instance_id, node, scope, request=request, result=answer.value)
            session.record(row, undo=undo)
        if use.result is not None:
            frame.bag.put(use.result, answer.value)

    def _transaction(self) -> OpenTransaction | None:
        begin: Callable[..., Any] | None = getattr(self.session.journal, "transaction", None)
        return None if begin is None else OpenTransaction(begin)

    def _switch(self, frame: Frame, node: Switch) -> int:
        selected = self.ask(node.selector, frame.bag, failures.SELECTOR_FAILED)
        for value, target in node.cases:
            if type(value) is type(selected) and value == selected:
                return target
        return node.default

    def _fail(self, frame: Frame, node: Fail) -> Moved:
        error = stored_error(node.error(), (), code=node.error.code)
        if (frame.scope, node.index) in self.session.failed:
            raise FlowFailure(error)
        now = self._clock.now()
        row = StepRow(
            scope=frame.scope,
            step_id=node.index,
            attempt=self.session.attempt_after((frame.scope, node.index)),
            capability_id="",
            outcome=RowOutcome.FAILURE,
            error=error,
            captured=Captured(now),
        )
        raise FlowFailure(error, row)

    def _emit(self, frame: Frame, node: Emit) -> Moved:
        row = self.session.done.get((frame.scope, node.index))
        if row is not None:
            self.pass_row(frame, row, None)
            return node.index + 1
        self.check_deadline()
        event = self.event(frame, node)
        self.record(frame, node, node.event.id, event=event)
        return node.index + 1

    def event(self, frame: Frame, emit: Emit | FailureEmit) -> StagedEvent:
        """An event, under an id that a repetition gives again."""
        use = emit.event
        return StagedEvent(
            event_id=event_id(self.session.instance_id, frame.scope, emit.name),
            type=use.id,
            version=use.version,
            payload=self.ask(lambda bag: encode(use.type, emit.payload(bag)), frame.bag, failures.MAP_FAILED),
            partition_key=str(self.session.instance_id),
        )

    def record(
        self,
        frame: Frame,
        node: Node,
        capability_id: str,
        *,
        result: str | None = None,
        event: StagedEvent | None = None,
        taken: Delivery | None = None,
    ) -> None:
        """Record the row of a node that calls nothing."""
        now = self._clock.now()
        frame.bag.utc_now = now
        row = StepRow(
            scope=frame.scope,
            step_id=node.index,
            attempt=self.session.attempt_after((frame.scope, node.index)),
            capability_id=capability_id,
            outcome=RowOutcome.SUCCESS,
            name=getattr(node, "name", ""),
            result=result,
            captured=Captured(now),
        )
        self.session.record(row, event=event, taken=taken)

    def _delay(self, frame: Frame, node: Delay) -> Moved:
        key = (frame.scope, node.index)
        row = self.session.done.get(key)
        if row is not None:
            self.pass_row(frame, row, None)
            return node.index + 1
        self.check_deadline()
        now = self._clock.now()
        due = due_at(recorded=self.session.recorded_waits.get(key), now=now, duration=node.duration)
        if now < due:
            return (Wait(frame.scope, node.index, earliest(due, self.session.deadline)),)
        self.record(frame, node, DELAY)
        return node.index + 1

    async def _await_signal(self, frame: Frame, node: AwaitSignal) -> Moved:
        key = (frame.scope, node.index)
        after = node.index + 1 if node.signal_target is None else node.signal_target
        row = self.session.done.get(key)
        if row is not None:
            self.pass_row(frame, row, node.signal.type if row.capability_id == node.signal.id else None)
            return after
        if node.signal_target is not None and self.session.has_entered(frame.scope, node.index + 1, after):
            return await self._time_out(frame, node, node.index + 1, after)
        self.check_deadline()
        if self._take_signal(frame, node, node.signal.id, node.signal.type):
            return after
        now = self._clock.now()
        due = due_at(recorded=self.session.recorded_waits.get(key), now=now, duration=node.timeout)
        if now < due:
            return (Wait(frame.scope, node.index, earliest(due, self.session.deadline), node.signal.id),)
        if node.signal_target is None:
            raise failure(
                failures.SIGNAL_NOT_RECEIVED,
                Category.UNAVAILABLE,
                f"{node.signal.id!r} was not delivered within {node.timeout}",
            )
        return await self._time_out(frame, node, node.index + 1, after)

    async def _poll(self, frame: Frame, node: Poll) -> Moved:
        session = self.session
        body = self._nodes[node.index + 1]
        assert isinstance(body, Step)
        escalation = node.index + 2
        after = escalation if node.satisfied_target is None else node.satisfied_target
        attempts, first_attempt = 0, None
        while (row := session.done.get((frame.inner(attempts), body.index))) is not None:
            self.pass_row(frame, row, body.capability.result)
            first_attempt = first_attempt or row.captured.utc_now
            attempts += 1
        ending = session.done.get((frame.scope, node.index))
        if ending is not None:
            by_signal = node.signal is not None and ending.capability_id == node.signal.id
            self.pass_row(frame, ending, node.signal.type if node.signal is not None and by_signal else None)
            return after
        if node.satisfied_target is not None and session.has_entered(frame.scope, escalation, after):
            return await self._time_out(frame, node, escalation, after)
        has_just_attempted = False
        while True:
            self.check_deadline()
            if attempts and self.ask(node.until, frame.bag, failures.PREDICATE_FAILED):
                return after
            if node.signal is not None and self._take_signal(frame, node, node.signal.id, node.signal.type):
                return after
            parked_at = frame.inner(attempts - 1) if attempts else frame.scope
            facts = PollFacts(
                attempts=attempts,
                first_attempt=first_attempt,
                recorded=session.recorded_waits.get((parked_at, node.index)),
                has_just_attempted=has_just_attempted,
            )
            judged = judge_poll(
                facts,
                interval=node.interval,
                budget=node.timeout,
                now=self._clock.now(),
                deadline=session.deadline,
                draw=self._random.random(),
            )
            match judged.verdict:
                case Verdict.PARK:
                    assert judged.wake_at is not None
                    signal_id = None if node.signal is None else node.signal.id
                    return (Wait(parked_at, node.index, judged.wake_at, signal_id),)
                case Verdict.OVER if node.satisfied_target is None:
                    raise failure(
                        failures.POLL_NOT_SATISFIED,
                        Category.UNAVAILABLE,
                        f"{body.name!r} did not satisfy the poll in {attempts} attempts",
                    )
                case Verdict.OVER:
                    return await self._time_out(frame, node, escalation, after)
                case Verdict.ATTEMPT:
                    await self._perform(frame, body, frame.inner(attempts))
                    first_attempt = first_attempt or frame.bag.utc_now
                    attempts += 1
                    has_just_attempted = True

    def _take_signal(self, frame: Frame, node: AwaitSignal | Poll, signal_id: str, contract: type[Any]) -> bool:
        """Make a delivered signal the wait's own row, if there is one."""
        delivery = self.session.take(signal_id)
        if delivery is None:
            return False
        try:
            frame.bag.put(contract, decode(contract, delivery.payload))
        except ValueError as error:
            raise FlowFailure(stored_error(error, (), code=failures.SIGNAL_INVALID)) from error
        self.record(frame, node, signal_id, result=delivery.payload, taken=delivery)
        return True

    async def _time_out(self, frame: Frame, node: AwaitSignal | Poll, start: int, end: int) -> Moved:
        """Run the timeout block. A timeout has no row: the block's rows, or a wait open in it, are its evidence."""
        waits = await self.walk(frame, start, end)
        if waits:
            return waits
        if not self.session.has_entered(frame.scope, start, end, with_waits=False):
            self.record(frame, node, TIMED_OUT)
        return end


def _kept_request(node: Step, request: Any) -> str | None:
    """The request is kept only where the undo of this very row needs it."""
    if node.compensation is None or takes_result(node):
        return None
    return encode(node.capability.request, request)


def _kept_result(contract: type[Any] | None, result: Any) -> str | None:
    return None if contract is None else encode(contract, result)
