"""Steps that were under way when their process died: made once more before anything may turn the flow back.

An effect comes before its row. Where a process dies between the two, a walk that comes by again simply repeats the
step. One that is turned back before it comes there (by the deadline, by a cancel, by the failure of another branch)
would leave the effect for good: what has no row is not undone. So a walk over what a dead process has left first goes
to where that process may have been, and makes the compensable steps there once more, under the same idempotency key;
effects are at least once anyway. Then they have rows, and are undone like all others.

Where a process may have been, the rows say. A pass that comes to its end leaves every branch done or at a wait; a
branch that stands before a step was left in the middle of one, or just before it.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any

from flowx_runtime.engine import waiting
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.beside_the_path import waits_that_are_over
from flowx_runtime.engine.failures import FlowFailure
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.session import Key, Session
from flowx_runtime.engine.steps import is_retried
from flowx_runtime.engine.walker import Walker
from flowx_runtime.journal.records import State, Wait
from flowx_runtime.plan.nodes import AwaitSignal, Delay, Emit, Fail, Node, Poll, Step, SubFlow

_FIRST_FENCE = 1
"""Whoever starts an instance has it first: nobody can have died with it."""


async def finish_steps(walker: LastSteps) -> None:
    """Make the steps once more that may have been under way."""
    frame = Frame("", Bag(walker.session.input, walker.session.started))
    with contextlib.suppress(FlowFailure):  # the walk that follows meets it as well
        await walker.walk(frame, 0, len(walker.session.plan.nodes))


def may_be_in_flight(session: Session, now: datetime) -> bool:
    """Whether a compensable step may have been under way that this pass might not come to."""
    if session.journal is None or session.fence == _FIRST_FENCE:
        return False
    if not any(map(_is_compensable, session.plan.nodes)):
        return False
    if session.state is not State.SUSPENDED or session.cancel_reason is not None:
        return True
    if session.deadline is not None and now >= session.deadline:
        return True
    # It was gone on with from one of several waits, or from a wait for the next attempt at a step.
    steps = (session.plan.nodes[wait.step_id] for wait in session.waits if wait.wake_at <= now)
    return any(map(_is_compensable, steps)) or bool(waits_that_are_over(session.plan, session.waits, session.done))


class LastSteps(Walker):
    """Goes where a process may have died. Every branch rests at its first node that has left nothing."""

    def __init__(self, session: Session, **parts: Any) -> None:
        super().__init__(session, **parts)
        self._not_written: set[Key] = set()

    def check_deadline(self) -> None:
        """Nothing is turned back here."""

    def check_cancelled(self) -> None:
        """Nothing is turned back here."""

    async def perform(self, frame: Frame, node: Step, scope: str) -> Waits:
        known = self.session.failed.get((scope, node.index))
        retry = None if node.policy is None else node.policy.retry
        if known is not None and known.error is not None and not is_retried(retry, known.attempt, known.error):
            raise FlowFailure(known.error)
        if _is_compensable(node) and self._may_have_begun((scope, node.index)):
            try:
                for wait in await super().perform(frame, node, scope):
                    # The walk that follows comes by again, and is to find when the next attempt is due.
                    self.session.recorded_waits[wait.scope, wait.step_id] = wait.wake_at
            except FlowFailure as failed:
                if failed.row is not None:
                    self.session.record(failed.row)
        return self._rest(scope, node)

    def record(self, frame: Frame, node: Node, capability_id: str, **_: Any) -> None:
        # A row that is not written yet comes before every effect of the nodes behind it.
        self._not_written.add((frame.scope, node.index))

    async def _enter(self, frame: Frame, node: Node) -> Moved:
        key = (frame.scope, node.index)
        has_row = key in self.session.done or key in self.session.failed
        match node:
            case Delay() | Emit() | Fail() | SubFlow() if not has_row:
                return self._rest(frame.scope, node)
            case AwaitSignal() | Poll() if not has_row and not waiting.is_over(self, frame, node):
                return self._rest(frame.scope, node)
        moved = await super()._enter(frame, node)
        return self._rest(frame.scope, node) if key in self._not_written else moved

    def _may_have_begun(self, key: Key) -> bool:
        due, deadline = self.session.recorded_waits.get(key), self.session.deadline
        # One that waited for its next attempt, and was woken to time out, was not attempted.
        return due is None or (due <= self.clock.now() and (deadline is None or due < deadline))

    def _rest(self, scope: str, node: Node) -> Waits:
        return (Wait(scope, node.index, self.clock.now()),)


def _is_compensable(node: Node) -> bool:
    return isinstance(node, Step) and node.compensation is not None
