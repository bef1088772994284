"""The step loop. Resuming is the same loop from the first node: what is committed is passed, not done again.

As the walk passes a committed row, the row's result goes into the bag and the row's clock becomes the bag's; every
predicate, selector and map therefore sees what it saw when it was first asked.
"""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, assert_never

from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine import composition, failures, steps, waiting
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.clock import Clock, Pause
from flowx_runtime.engine.failures import FlowFailure, failure, stored_error
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.guards import Guards
from flowx_runtime.engine.identity import event_id
from flowx_runtime.engine.once.run import Execution
from flowx_runtime.engine.session import Session
from flowx_runtime.engine.side_by_side import is_stopped
from flowx_runtime.journal.records import Captured, Delivery, RowOutcome, StagedEvent, StepRow
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
    from flowx_runtime.engine.step_context import StepRun
    from flowx_runtime.engine.sub_flow import Children


class Walker:
    """Walks the nodes of one session's plan."""

    def __init__(
        self,
        session: Session,
        *,
        clock: Clock,
        guards: Guards,
        random: Random,
        pause: Pause,
        children: Children,
    ) -> None:
        self.session = session
        self.clock = clock
        self.guards = guards
        self.random = random
        self.pause = pause
        self.children = children
        self.open_execution = partial(self._open_execution)
        self._nodes = session.plan.nodes
        self._step = steps.step_in_memory if session.journal is None else steps.step

    def _open_execution(self, run: StepRun) -> Execution:
        return Execution(run, self.session.ledger, clock=self.clock.now, draw=self.random.random)

    async def walk(self, frame: Frame, start: int, end: int) -> Waits:
        """Go from `start` to `end`; gives the open waits, or nothing if `end` was reached.

        Raises:
            FlowFailure: the flow fails here.
        """
        index = start
        while index < end:
            if self.session.overlapping and is_stopped():
                await self.leave()
            node = self._nodes[index]
            try:
                moved = await (self._step(self, frame, node) if type(node) is Step else self._enter(frame, node))
            except FlowFailure as failed:
                failed.at = failed.at or (frame.scope, index)
                raise
            if not isinstance(moved, int):
                return moved
            index = moved
        return ()

    async def leave(self) -> None:
        """Leave a walk that was cancelled and whose capability went on: what it did has rows, so it can be undone.

        Raises:
            CancelledError: always.
        """
        await self.session.flush()
        raise asyncio.CancelledError

    def check_deadline(self) -> None:
        """Fail a flow whose time is up or that is to be cancelled, before it does or waits for anything more."""
        self.check_cancelled()
        deadline = self.session.deadline
        if deadline is not None and self.clock.now() >= deadline:
            raise failure(
                failures.DEADLINE_EXCEEDED, Category.UNAVAILABLE, f"the flow had until {deadline.isoformat()}"
            )

    def stopped(self) -> FlowFailure | None:
        """Why the flow may do nothing more, if it may not."""
        try:
            self.check_deadline()
        except FlowFailure as failed:
            return failed
        return None

    def check_cancelled(self) -> None:
        """Fail a flow that somebody asked to cancel."""
        reason = self.session.cancel_reason
        if reason is not None:
            raise failure(failures.CANCELLED, Category.CONFLICT, reason or "no reason was given")

    def ask(self, lifted: Lifted, bag: Bag, code: str) -> Any:
        """Evaluate a predicate, selector, map or projection; what it raises fails the flow."""
        try:
            return lifted(bag)
        except Exception as error:  # the author's code; its failure must still unwind the flow
            raise FlowFailure(stored_error(error, bag.everything(), code=code)) from error

    async def perform(self, frame: Frame, node: Step, scope: str) -> Waits:
        """Call a step's capability until it answers; a poll's attempt has a scope of its own."""
        return await steps.perform(self, frame, node, scope)

    async def _enter(self, frame: Frame, node: Node) -> Moved:
        known = self.session.failed.get((frame.scope, node.index))
        if known is not None and known.error is not None:
            raise FlowFailure(known.error)  # and was forgiven, by the fork or loop around it
        match node:
            case Step():
                return await self._step(self, frame, node)
            case Jump():
                return node.target
            case Branch():
                holds = self.ask(node.predicate, frame.bag, failures.PREDICATE_FAILED)
                return node.index + 1 if holds else node.otherwise
            case Switch():
                return self._switch(frame, node)
            case AwaitSignal():
                return await waiting.await_signal(self, frame, node)
            case Delay():
                return waiting.delay(self, frame, node)
            case Poll():
                return await waiting.poll(self, frame, node)
            case Emit():
                return self._emit(frame, node)
            case Fail():
                return self._fail(frame, node)
            case Parallel():
                return await composition.parallel(self, frame, node)
            case ForEach():
                return await composition.for_each(self, frame, node)
            case SubFlow():
                return await self.children.sub_flow(self, frame, node)
            case _:
                assert_never(node)

    def pass_row(self, frame: Frame, row: StepRow, contract: type[Any] | None) -> None:
        """Put what a committed row says into the bag."""
        if row.captured.utc_now is not None:
            frame.bag.utc_now = row.captured.utc_now
        if contract is None or row.result is None:
            return
        session, place = self.session, (self.session.instance_id, row.scope, row.step_id)
        is_live = place in session.live.results
        frame.bag.put(contract, session.live.results[place] if is_live else session.restored(contract, row.result))

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
        now = self.clock.now()
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
            payload=self.ask(
                lambda bag: self.session.documents.staged(use.type, emit.payload(bag)),
                frame.bag,
                failures.MAP_FAILED,
            ),
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
        now = self.clock.now()
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
