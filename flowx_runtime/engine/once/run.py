"""One execution of a capability that has steps of its own: runs each unless it has run, says when to come back."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from uuid import UUID

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.contexts import BY_NUMBER
from flowx_runtime.authoring.errors import FlowError, FlowxError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.failures import UNHANDLED, Disowned, stored_error
from flowx_runtime.engine.identity import once_key, shared_once_key
from flowx_runtime.engine.once.kept import ResultNotKept, error_again, error_type, give_back, keep, not_kept
from flowx_runtime.engine.once.path import (
    execution_path,
    helpers_between,
    of_pass,
    refuse_label,
    retried,
)
from flowx_runtime.journal.contract import JournalUnavailable, NotStorable
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import Captured, StoredError

if TYPE_CHECKING:
    from flowx_runtime.engine.once.ledger import Ledger
    from flowx_runtime.engine.step_context import StepRun

_MAY_PASS: Final = frozenset({Category.UNAVAILABLE, Category.INTERNAL})
"""What waiting can change. The others are decisions: asked again, they are the same."""

_INSIDE: ContextVar[tuple[Execution, str, str] | None] = ContextVar("flowx_once_inside", default=None)
"""The step whose callable is running: its execution, its path for what runs inside it, and its labels."""


class Parked(BaseException):
    """A step failed and is to be tried again later: the body is left, and entered again from the top.

    No `Exception`: a body's own `try` is to see the last failure and no other.
    """

    def __init__(self, path: str, due_at: datetime, gap: timedelta) -> None:
        super().__init__(f"{path} is tried again at {due_at.isoformat()}")
        self.due_at = due_at
        self.gap = gap


class Execution:
    """The steps of one execution of a capability: of one step of a flow, in one scope, whatever the attempt."""

    __slots__ = (
        "_clock",
        "_draw",
        "_leaving",
        "_ledger",
        "_open",
        "_passes",
        "_paths",
        "_run",
        "_written",
        "lost",
        "parked",
        "path",
    )

    def __init__(
        self, run: StepRun, ledger: Ledger, *, clock: Callable[[], datetime], draw: Callable[[], float]
    ) -> None:
        self._run = run
        self._ledger = ledger
        self._clock = clock
        self._draw = draw
        self._leaving: list[str] = []
        """The paths of steps that are to be tried again or have no record: what they are inside of is not done."""
        self._passes: Counter[str] = Counter()
        self._paths: set[str] = set()
        self._written: Captured | None = None
        self.path = execution_path(run.flow_id, run.name, run.scope, is_undo=run.compensating_for is not None)
        self._open = 0
        self.parked: Parked | None = None
        """Set when a step is to be tried again; whatever the body then still does, it is left."""
        self.lost: Exception | None = None
        """Set when a record could not be read or written; likewise, or a step that has run could count as not run."""

    async def resume(self) -> Captured | None:
        """What an earlier attempt at this execution read from outside, so that this one reads the same."""
        await self._load()
        record = self._ledger.find(self.path)
        if record is None or record.value is None:
            return None
        self._written = _captured(record.value)
        return self._written

    def step(
        self,
        label: str,
        work: Callable[..., Any],
        *,
        each: object = BY_NUMBER,
        scope: object,
        retry: Backoff | None,
        returns: Any,
    ) -> Awaitable[Any]:
        """A step, named now by where it is called from, and run when it is awaited."""
        refuse_label(label)
        if not callable(work):
            raise TypeError(
                f"step {label!r} was given a {type(work).__name__} and needs something to call: "
                f"ctx.once({label!r}, lambda: …)"
            )
        if retry is not None and retry.attempts is None:
            raise ValueError(f"step {label!r} would be tried for ever: cap its retry with .max_attempts(n)")
        inside = _INSIDE.get()
        if inside is not None and inside[0] is not self:
            inside = None
        above, labels = (self.path, "") if inside is None else inside[1:]
        helpers = helpers_between(self._run, is_inside_a_step=inside is not None)
        path = "/".join((above, *helpers, label))
        which = self._which_pass(path, label, each)
        own = of_pass(label, which)
        labels = f"{labels}/{own}" if labels else own
        self._open += 1
        return self._closing(self._once(of_pass(path, which), labels, work, scope=scope, retry=retry, returns=returns))

    def _which_pass(self, path: str, label: str, each: object) -> str:
        """What tells this pass from the others: what the author says, else how many came before it."""
        if each is BY_NUMBER:
            passes = self._passes[path]
            self._passes[path] += 1
            which = str(passes) if passes else ""
        else:
            which = "" if each is None else quote(str(each), safe="")
            if not which:
                given = "None as" if each is None else "an empty"
                raise ValueError(f"step {label!r} is given {given} each=: give what tells one pass from another")
        named = of_pass(path, which)
        if named in self._paths:
            raise ValueError(f"two passes of step {label!r} are one ({which}): give each an each= of its own")
        self._paths.add(named)
        return which

    async def _closing(self, work: Awaitable[Any]) -> Any:
        try:
            return await work
        finally:
            self._open -= 1

    @property
    def is_whole(self) -> bool:
        """Whether everything that was begun has ended: a step that nobody waits for may run after its capability."""
        return self._open == 0

    @property
    def is_inside_a_step(self) -> bool:
        """Whether the callable of a step is what runs."""
        inside = _INSIDE.get()
        return inside is not None and inside[0] is self

    async def _once(
        self,
        path: str,
        labels: str,
        work: Callable[..., Any],
        *,
        scope: object,
        retry: Backoff | None,
        returns: Any,
    ) -> Any:
        if self.lost is not None:
            raise self.lost  # the body went on regardless: nothing more happens that might not be kept either
        ledger = self._ledger
        await self._load()
        found = ledger.find(path)
        if found is not None and found.is_done:
            if found.error is not None:
                raise not_kept(found.error)
            assert found.value is not None
            return give_back(found.value, found.type, returns, ledger.documents, ledger.instance_id)
        failed = 0 if found is None else found.attempts
        if found is not None and found.error is not None:
            self._wait_or_fail(path, found, retry)
        entered = _INSIDE.set((self, retried(path, failed), labels))
        try:
            value = work(self._key(path, labels, scope)) if _takes_key(work) else work()
            if inspect.isawaitable(value):
                value = await value
            self._refuse_if_left_inside(retried(path, failed))
        except (JournalUnavailable, Disowned):
            raise
        except Exception as error:
            self._refuse_if_left_inside(retried(path, failed))
            if retry is not None:
                await self._note_failure(path, failed + 1, error, retry)
            raise
        finally:
            with suppress(ValueError):  # a body that is thrown away is closed in somebody else's context
                _INSIDE.reset(entered)
        await _finished(self._write_result(path, value, returns, failed + 1))
        return value

    async def _write_result(self, path: str, value: Any, returns: Any, attempts: int) -> None:
        ledger = self._ledger
        try:
            kept = keep(value, returns, ledger.documents, ledger.instance_id)
            await self._write(OnceRecord(path, is_done=True, value=kept.value, type=kept.type, attempts=attempts))
        except ResultNotKept as lost:
            await self._write_not_kept(path, attempts, lost)
            raise
        except NotStorable as refused:
            not_stored = ResultNotKept(f"the result of a step is not kept: {refused}")
            await self._write_not_kept(path, attempts, not_stored)
            raise not_stored from refused

    async def _write_not_kept(self, path: str, attempts: int, lost: ResultNotKept) -> None:
        # It has run: what must not happen now is that it runs again.
        told = StoredError(lost.code, lost.category.value, str(lost))
        await self._write(OnceRecord(path, is_done=True, attempts=attempts, error=told))

    def _refuse_if_left_inside(self, path: str) -> None:
        """Leave a step too that went on although one inside it is to be tried again, or has no record."""
        left = self.lost or self.parked
        if left is not None and any(at.startswith(f"{path}/") for at in self._leaving):
            raise left

    def _wait_or_fail(self, path: str, found: OnceRecord, retry: Backoff | None) -> None:
        """Come to a step that failed: leave again until it is due, or fail as it failed for good."""
        assert found.error is not None
        if retry is None or retry.attempts is None or found.attempts >= retry.attempts or found.due_at is None:
            raise error_again(found.error, found.type)
        now = self._clock()
        if now < found.due_at:
            self._park(path, found.due_at, found.due_at - now)

    async def _note_failure(self, path: str, attempts: int, error: Exception, retry: Backoff) -> None:
        """Record a failed attempt.

        Raises:
            Parked: there is another one to come.
        """
        told = stored_error(error, tuple(self._run.in_sight()), code=UNHANDLED)
        record = OnceRecord(path, is_done=False, type=error_type(error), attempts=attempts, error=told)
        may_pass = not isinstance(error, FlowError) or error.category in _MAY_PASS
        if not may_pass or retry.attempts is None or attempts >= retry.attempts:
            await self._write(record)
            return
        gap = retry.gap(attempts - 1, draw=self._draw())
        due_at = self._clock() + gap
        await self._write(replace(record, due_at=due_at))
        self._park(path, due_at, gap)

    def _park(self, path: str, due_at: datetime, gap: timedelta) -> None:
        self._leaving.append(path)
        self.parked = Parked(path, due_at, gap)
        raise self.parked

    async def _write(self, record: OnceRecord) -> None:
        """Keep a record, and with it what the body has read from outside so far."""
        captured = self._run.captured()
        before = self._written
        if before is not None and len(before.ids) > len(captured.ids):
            captured = replace(captured, ids=before.ids)  # this attempt has not come as far yet
        if captured == before:
            await self._keep(record)
            return
        of_execution = OnceRecord(self.path, is_done=False, value=_text(captured), attempts=0)
        await self._keep(of_execution, record)
        self._written = captured

    async def _load(self) -> None:
        try:
            await self._ledger.load(self.path)
        except (FlowxError, Disowned) as lost:
            self.lost = lost
            raise

    async def _keep(self, *records: OnceRecord) -> None:
        try:
            await self._ledger.write(*records)
        except NotStorable:
            raise
        except (FlowxError, Disowned) as lost:
            self._leaving.append(records[-1].path)
            self.lost = lost
            raise

    def _key(self, path: str, labels: str, scope: object) -> str:
        if scope is None:
            return once_key(self._ledger.instance_id, path)
        # An element of a flow's loop is a step of its own also where all of them are about one thing.
        element = self._run.effect_scope
        return shared_once_key(self._ledger.application, f"{labels}@{element}" if element else labels, str(scope))


async def _finished(writing: Coroutine[Any, Any, None]) -> None:
    """Finish what is to be written, also where the body is cancelled meanwhile: what a record says has happened."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # where it was lost, the execution knows
        raise


def _takes_key(work: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(work).parameters.values()
    except (ValueError, TypeError):
        return False
    return any(
        item.default is item.empty and item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)
        for item in parameters
    )


def _text(captured: Captured) -> str:
    now = captured.utc_now
    return json.dumps(
        {
            "utc_now": None if now is None else now.isoformat(),
            "ids": [str(minted) for minted in captured.ids],
            "random_seed": captured.random_seed,
        }
    )


def _captured(text: str) -> Captured:
    document = json.loads(text)
    now = document["utc_now"]
    return Captured(
        None if now is None else datetime.fromisoformat(now),
        tuple(UUID(minted) for minted in document["ids"]),
        document["random_seed"],
    )
