"""Undoes what a failed run had done: strictly in reverse, each step once, by the values of that very execution."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.policies import Retry
from flowx_runtime.engine.capabilities import Capabilities
from flowx_runtime.engine.clock import Clock, Pause
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.failures import UNDO_UNREADABLE, Disowned, stored_error
from flowx_runtime.engine.invocation import Answer, invoke
from flowx_runtime.engine.once.run import Execution, Parked
from flowx_runtime.engine.redaction import ValueRedacted
from flowx_runtime.engine.session import Session
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.engine.undo import ChildUndo, Undo, child_scope, undo_of_row
from flowx_runtime.journal.records import Refusal, RowOutcome, StepRow, StoredError
from flowx_runtime.plan.plan import Plan

_LOG = logging.getLogger("flowx.engine")

DEFAULT_RETRY: Final = Retry(3, Backoff.exponential_jitter("PT0.1S", "PT1S"))
"""For an undo without a policy of its own: one lost packet must not strand an operator."""

_ONCE: Final = Retry(1, Backoff.fixed("PT1S"))
"""Of an undo that is not idempotent: one that raised may have done its work, and doing it again pays twice."""

_LONGEST_PAUSE = timedelta(seconds=1)


class Unwinder:
    """Runs undo stacks."""

    def __init__(
        self,
        *,
        clock: Clock,
        capabilities: Capabilities,
        plan_for: Callable[[str, str], Plan[Any, Any]],
        pause: Pause,
        random: Random,
    ) -> None:
        self._clock = clock
        self._capabilities = capabilities
        self._plan_for = plan_for
        self._pause = pause
        self._random = random

    async def unwind(self, session: Session) -> bool:
        """Undo everything on the stack that is not undone; whether all of it now is.

        One undo that fails for good does not keep the others from running.
        """
        is_clean = True
        for entry in reversed(session.undo_stack):
            async for undo in self._expanded(session, entry):
                if (undo.scope, undo.step_id) not in session.undone and not await self._undo(session, undo):
                    is_clean = False
        return is_clean

    async def _expanded(self, session: Session, entry: Undo | ChildUndo) -> AsyncIterator[Undo]:
        """An entry as the undos it stands for, in the order they run."""
        if isinstance(entry, Undo):
            yield entry
            return
        history = None if session.journal is None else await session.journal.read(entry.child_id)
        if history is None:
            raise Disowned(Refusal.UNKNOWN_INSTANCE, f"the child {entry.child_id} is not in the journal")
        plan = self._plan_for(history.instance.flow_id, history.instance.flow_version)
        for row in reversed(history.rows):
            inner = undo_of_row(plan, entry.child_id, row, session.live)
            if inner is not None:
                placed = replace(inner, scope=child_scope(entry.scope, entry.step_id, inner.scope))
                async for undo in self._expanded(session, placed):
                    yield undo

    async def _undo(self, session: Session, undo: Undo) -> bool:
        key = (undo.scope, undo.step_id)
        retry = undo.retry or (DEFAULT_RETRY if undo.use.idempotent else _ONCE)
        made = session.undo_failures.get(key, 0)
        last: StoredError | None = None
        while made < retry.attempts:
            if last is not None:
                gap = retry.backoff.gap(made - 1, draw=self._random.random())
                await self._pause(min(gap, _LONGEST_PAUSE))
            last = await self._attempt(session, undo)
            if last is None:
                return True
            made += 1
        _LOG.error(
            "instance %s of %s is not undone: %r (scope %r) of %r gave up after %s%s. "
            "Undo it by hand; the undo is given %s",
            session.instance_id,
            session.plan.flow_id,
            undo.use.id,
            undo.scope,
            undo.name,
            "one attempt" if made == 1 else f"{made} attempts",
            "" if last is None else f", last with {last.code}: {last.detail}",
            _said(undo, session.documents),
        )
        return False

    async def _attempt(self, session: Session, undo: Undo) -> StoredError | None:
        await session.flush()
        context = StepRun(
            self._clock.now(),
            instance_id=undo.instance_id,
            flow_id=undo.flow_id,
            capability_id=undo.use.id,
            attempt=session.attempt_after((undo.scope, undo.step_id)),
            name=undo.name,
            scope=undo.origin_scope,
            effect_scope=undo.origin_scope,
            compensating_for=undo.compensates,
        )
        context.open_execution = lambda run: Execution(
            run, session.ledger, clock=self._clock.now, draw=self._random.random
        )
        try:
            value = undo.value(session.documents)
        except (ValueError, ValueRedacted) as unreadable:
            # A contract that changed under a parked instance, or a value that was not kept; the other undos still run.
            answer = Answer(None, stored_error(unreadable, (session.input,), code=UNDO_UNREADABLE), 0)
        else:
            try:
                answer = await invoke(undo.use, self._capabilities.call(undo.use), value, context)
            except Parked as parked:
                # Going back does not park: what is half undone is worse than a pause.
                await self._pause(min(parked.gap, _LONGEST_PAUSE))
                return await self._attempt(session, undo)
        session.record(
            StepRow(
                scope=undo.scope,
                step_id=undo.step_id,
                attempt=context.attempt,
                capability_id=undo.use.id,
                outcome=RowOutcome.COMPENSATED if answer.error is None else RowOutcome.FAILURE,
                name=undo.name,
                error=answer.error,
                captured=context.captured(),
                duration_ms=answer.duration_ms,
            )
        )
        return answer.error


def _said(undo: Undo, documents: Documents) -> str:
    """The value an undo is given, as an operator may read it."""
    try:
        return documents.published(undo.use.request, undo.value(documents))
    except ValueRedacted:
        return f"a {undo.use.request.__name__} whose sensitive members were not kept"
    except ValueError:
        return f"a recorded {undo.use.request.__name__} that no longer fits its contract"
