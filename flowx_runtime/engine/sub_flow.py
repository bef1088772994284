"""A flow inside a flow: an instance of its own, which a crash cannot start twice and which may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from flowx_runtime.authoring.authorization import Caller
from flowx_runtime.authoring.vocabulary import Category, Profile, SubFlowMode
from flowx_runtime.engine import failures
from flowx_runtime.engine.ended import Ended
from flowx_runtime.engine.failures import FlowFailure, failure
from flowx_runtime.engine.frame import Frame, Moved
from flowx_runtime.engine.identity import child_id
from flowx_runtime.engine.left_children import LOOK_AGAIN
from flowx_runtime.engine.live import Live
from flowx_runtime.engine.session import CHILD_FINISHED, Session, child_ended
from flowx_runtime.engine.unbegun import leave_unbegun
from flowx_runtime.engine.undo import ChildUndo, child_scope
from flowx_runtime.engine.waits import earliest
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import (
    Captured,
    Claimed,
    History,
    Lease,
    NewInstance,
    RowOutcome,
    Started,
    State,
    StepRow,
    Wait,
)
from flowx_runtime.plan.nodes import SubFlow
from flowx_runtime.plan.plan import Plan

if TYPE_CHECKING:
    from flowx_runtime.engine.walker import Walker

DEEPEST: Final = 32
"""Sub-flows inside one another; each is part of the stack of the one around it."""


class Runner(Protocol):
    """What starting a child needs of the engine."""

    owner: str
    lease_ttl: timedelta

    async def proceed(
        self,
        plan: Plan[Any, Any],
        history: History,
        lease: Lease,
        *,
        caller: Caller | None,
        input: Any,
        live: Live,
        depth: int | None,
    ) -> Ended | None: ...

    async def run_session(self, session: Session) -> Ended: ...

    def detach(self, work: Awaitable[Any]) -> object: ...

    def hint(self) -> None: ...


class Children:
    """Starts, joins and wakes by sub-flows."""

    def __init__(
        self,
        runner: Runner,
        *,
        journal: Journal | None,
        now: Callable[[], datetime],
        plan_for: Callable[[str, str], Plan[Any, Any]],
    ) -> None:
        self._runner = runner
        self._journal = journal
        self._now = now
        self._plan_for = plan_for

    async def sub_flow(self, walker: Walker, frame: Frame, node: SubFlow) -> Moved:
        """Run a sub-flow node."""
        session = walker.session
        plan = self._plan_for(node.flow_id, node.version)
        is_inline = node.mode is SubFlowMode.INLINE
        key = (frame.scope, node.index)
        row = session.done.get(key)
        if row is not None:
            walker.pass_row(frame, row, plan.output if is_inline else None)
            return node.index + 1
        known = session.failed.get(key)
        if known is not None and known.error is not None:
            raise FlowFailure(known.error)
        await session.flush()
        walker.check_deadline()
        request = walker.ask(node.request, frame.bag, failures.MAP_FAILED)
        if session.is_durable or plan.profile is Profile.DURABLE:
            return await self._in_journal(walker, frame, node, plan, request)
        return await self._in_memory(walker, frame, node, plan, request)

    async def _in_journal(
        self, walker: Walker, frame: Frame, node: SubFlow, plan: Plan[Any, Any], request: Any
    ) -> Moved:
        session, journal = walker.session, self._journal
        if journal is None:
            raise failure(
                "flow.durability_not_configured",
                Category.INTERNAL,
                f"the sub-flow {plan.flow_id!r} is durable and this host has no journal",
            )
        is_inline = node.mode is SubFlowMode.INLINE
        if is_inline:
            await self._refuse_too_deep(session, node)
        new = walker.ask(
            lambda _: self._new_instance(session, frame, node, plan, request), frame.bag, failures.MAP_FAILED
        )
        child = new.instance_id
        started = await self._start(session, journal, new)
        if not is_inline:
            if started.lease is not None:
                # From here the child is nobody's: whichever node looks first runs it.
                await leave_unbegun(journal, started.lease)
                self._runner.hint()
            walker.record(frame, node, node.flow_id)
            return node.index + 1
        ended = None
        if started.lease is not None and started.is_paused:
            await leave_unbegun(journal, started.lease)
        else:
            ended = await self._run_child(plan, started.history, started.lease, session=session, request=request)
        if ended is None or not ended.state.is_terminal:
            if not session.is_durable:
                raise failure(
                    failures.SUB_FLOW_CANNOT_WAIT,
                    Category.INTERNAL,
                    f"{plan.flow_id!r} waits, and an ephemeral flow cannot: make {session.plan.flow_id!r} durable",
                )
            wake_at = earliest(self._now() + LOOK_AGAIN, session.deadline)
            return (Wait(frame.scope, node.index, wake_at, f"{CHILD_FINISHED}{child}"),)
        self._join(walker, frame, node, plan, ended)
        return node.index + 1

    async def _start(self, session: Session, journal: Journal, new: NewInstance) -> Started:
        # A sibling may cancel us; a start that was sent may come to be all the same, and is then known of.
        starting = asyncio.ensure_future(journal.start(new, owner=self._runner.owner, ttl=self._runner.lease_ttl))
        session.starting[new.instance_id] = starting
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            started = await asyncio.shield(starting)
        except Exception:
            del session.starting[new.instance_id]
            raise
        del session.starting[new.instance_id]
        return started

    def _join(self, walker: Walker, frame: Frame, node: SubFlow, plan: Plan[Any, Any], ended: Ended) -> None:
        """Make the child's end the parent's row, and take the delivery that its last commit left for us."""
        session, child = walker.session, ended.instance_id
        taken = session.take(f"{CHILD_FINISHED}{child}")
        if taken is None and session.is_durable:
            taken = child_ended(child)
        if ended.error is not None:
            row = self._failure_row(walker, frame, node, ended)
            raise FlowFailure(ended.error, row, taken=taken)
        value, result = ended.output, None
        if plan.output is not None:
            if value is None:
                value = session.documents.restored(plan.output, ended.output_json or "null", child)
            # Written anew: what is sealed opens only in the instance it was sealed for.
            contract = plan.output
            result = walker.ask(lambda _: session.stored(contract, value), frame.bag, failures.WRONG_RESULT)
            session.keep_result(frame.scope, node.index, plan.output, value)
            frame.bag.put(plan.output, value)
        walker.record(frame, node, node.flow_id, result=result, taken=taken)
        if not session.is_durable:
            session.undo_stack.append(ChildUndo(child, frame.scope, node.index))

    async def _in_memory(
        self, walker: Walker, frame: Frame, node: SubFlow, plan: Plan[Any, Any], request: Any
    ) -> Moved:
        session = walker.session
        now = self._now()
        await self._refuse_too_deep(session, node)
        child = Session(
            plan,
            instance_id=child_id(session.instance_id, frame.scope, node.index),
            input=request,
            started=now,
            deadline=self._deadline(session, node, plan),
            caller=session.caller,
            documents=session.documents,
        )
        child.application = session.application
        child.depth = (session.depth or 0) + 1
        if node.mode is SubFlowMode.DETACHED:
            self._runner.detach(self._runner.run_session(child))
            walker.record(frame, node, node.flow_id)
            return node.index + 1
        ended = await self._runner.run_session(child)
        if ended.error is not None:
            raise FlowFailure(ended.error, self._failure_row(walker, frame, node, ended))
        walker.record(frame, node, node.flow_id)
        for entry in child.undo_stack:
            session.undo_stack.append(replace(entry, scope=child_scope(frame.scope, node.index, entry.scope)))
        if plan.output is not None:
            frame.bag.put(plan.output, ended.output)
        return node.index + 1

    async def _run_child(
        self, plan: Plan[Any, Any], history: History, lease: Lease | None, *, session: Session, request: Any
    ) -> Ended | None:
        """Run a child as far as it goes now; `None` where somebody else has it."""
        if lease is None:
            state = history.instance.state
            if state.is_terminal:
                return _ended(history)
            if state is State.SUSPENDED:
                return None
            assert self._journal is not None
            claim = await self._journal.claim(
                history.instance.instance_id, owner=self._runner.owner, ttl=self._runner.lease_ttl
            )
            if not isinstance(claim, Claimed):
                return None
            history, lease = claim.history, claim.lease
        depth = None if session.depth is None else session.depth + 1
        return await self._runner.proceed(
            plan, history, lease, caller=session.caller, input=request, live=session.live, depth=depth
        )

    async def _refuse_too_deep(self, session: Session, node: SubFlow) -> None:
        """Fail a flow whose sub-flows have sub-flows beyond any sense, before the process runs out of stack."""
        if session.depth is None:
            session.depth = await self._depth(session)
        if session.depth >= DEEPEST:
            raise failure(
                failures.TOO_DEEP,
                Category.INTERNAL,
                f"{session.plan.flow_id!r} would run {node.flow_id!r} as the {DEEPEST + 1}th flow inside one another: "
                "let the recursion end sooner, or run a loop",
            )

    async def _depth(self, session: Session) -> int:
        depth, parent = 0, None if session.parent is None else session.parent.instance_id
        while parent is not None and depth < DEEPEST and self._journal is not None:
            depth += 1
            history = await self._journal.read(parent)
            parent = None if history is None else history.instance.parent_instance_id
        return depth

    def _new_instance(
        self, session: Session, frame: Frame, node: SubFlow, plan: Plan[Any, Any], request: Any
    ) -> NewInstance:
        waits_for_it = node.mode is SubFlowMode.INLINE and session.is_durable
        child = child_id(session.instance_id, frame.scope, node.index)
        return NewInstance(
            instance_id=child,
            flow_id=plan.flow_id,
            flow_version=plan.version,
            plan_digest=plan.digest,
            input=session.documents.stored(plan.input, request, child),
            deadline_at=self._deadline(session, node, plan),
            correlation_id=session.correlation_id or str(session.instance_id),
            tenant_id=session.tenant_id,
            parent_instance_id=session.instance_id if waits_for_it else None,
            parent_scope=frame.scope if waits_for_it else "",
            parent_step_id=node.index if waits_for_it else None,
        )

    def _deadline(self, session: Session, node: SubFlow, plan: Plan[Any, Any]) -> datetime | None:
        own = None if plan.deadline is None else self._now() + plan.deadline
        if node.mode is SubFlowMode.DETACHED:
            return own
        bounds = [bound for bound in (own, session.deadline) if bound is not None]
        return min(bounds, default=None)

    def _failure_row(self, walker: Walker, frame: Frame, node: SubFlow, ended: Ended) -> StepRow:
        return StepRow(
            scope=frame.scope,
            step_id=node.index,
            attempt=walker.session.attempt_after((frame.scope, node.index)),
            capability_id=node.flow_id,
            outcome=RowOutcome.FAILURE,
            name=node.name,
            error=ended.error,
            captured=Captured(self._now()),
        )


def _ended(history: History) -> Ended:
    instance = history.instance
    return Ended(instance.instance_id, instance.state, output_json=instance.output, error=instance.error)
