"""One call of one capability: the request it is given, what it may see, and how its end is told."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from flowx_runtime.authoring.errors import FlowError, said_by
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.capabilities import Call
from flowx_runtime.engine.failures import UNHANDLED, WRONG_RESULT, Disowned, stored_error, told_to_log
from flowx_runtime.engine.once.run import Parked
from flowx_runtime.engine.step_context import StepRun
from flowx_runtime.journal.contract import JournalUnavailable, StepTransaction
from flowx_runtime.journal.records import Commit, Refused, StoredError
from flowx_runtime.plan.uses import CapabilityUse

_LOG = logging.getLogger("flowx.engine")

_CANCELLING: Final = (asyncio.CancelledError, GeneratorExit, SystemExit)

_NOT_AWAITED: Final = StoredError(
    "flow.once_not_awaited",
    Category.VALIDATION.value,
    "the capability ended while a step of ctx.once or ctx.durable had not: await each of them",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: a value, or an error."""

    value: Any
    error: StoredError | None
    duration_ms: int


async def invoke(use: CapabilityUse, call: Call, request: Any, context: StepRun) -> Answer:
    """Call a capability; every exception of its own becomes an error value, one that is no `Exception` as well.

    Cancellation, a journal that cannot be reached and an instance that is somebody else's by now are no answers of the
    capability: they pass through.

    Raises:
        Parked: a step inside the capability is to be tried again.
    """
    begun = time.perf_counter()
    try:
        value = await call(request, context)
    except BaseException as error:  # whatever a capability raises fails the step, never the host
        return Answer(None, told(error, request, context), _since(begun))
    refuse_if_left(context)
    if context.execution is not None and not context.execution.is_whole:
        return Answer(None, _NOT_AWAITED, _since(begun))
    if use.result is not None and not isinstance(value, use.result):
        return Answer(None, wrong_result(use, value), _since(begun))
    return Answer(value, None, _since(begun))


def refuse_if_left(context: StepRun) -> None:
    """Leave a body that went on although one of its steps is to be tried again, or has no record: it has not answered.

    Raises:
        Parked: the step is to be tried again.
        JournalUnavailable: its record could not be read or written.
        Disowned: likewise, for somebody else has the instance.
    """
    execution = context.execution
    if execution is None:
        return
    if execution.lost is not None:
        raise execution.lost
    if execution.parked is not None:
        raise execution.parked


def told(error: BaseException, request: Any, context: StepRun) -> StoredError:
    """What is kept of an exception that a capability raised; a defect is logged as well.

    Raises:
        JournalUnavailable: it is one, or a group with one, and so no answer of the capability's; or a step inside the
            capability has no record.
        Disowned: likewise.
        Parked: a step inside the capability is to be tried again.
        BaseException: it is not the capability's own: this run is cancelled, or the process is interrupted.
    """
    if _is_from_outside(error):
        raise error
    refuse_if_left(context)
    for each in _leaves(error):
        if isinstance(each, JournalUnavailable | Disowned | Parked):
            raise each
    if not isinstance(error, Exception):
        # Passing that on would leave no row, and the effect would be repeated without end.
        defect = RuntimeError(f"the capability let {type(error).__name__} out: {said_by(error)}".removesuffix(": "))
        defect.__cause__ = error
        error = defect
    if not isinstance(error, FlowError):
        _report(error, request, context)
    return stored_error(error, (request, *context.in_sight()), code=UNHANDLED)


def _is_from_outside(error: BaseException) -> bool:
    """Whether this run is cancelled, or the process is to end; a capability may raise the same by itself."""
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()  # no other thread is interrupted
    if isinstance(error, Exception):
        return False
    task = asyncio.current_task()
    return isinstance(error, _CANCELLING) and task is not None and task.cancelling() > 0


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """An exception, or those that a group of them is made of."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for each in error.exceptions:
        yield from _leaves(each)


def wrong_result(use: CapabilityUse, value: Any) -> StoredError:
    """The error of a capability that gave something else than it declares."""
    given = type(value).__name__
    if inspect.isawaitable(value):
        given = f"a {given} that nobody awaited: put `await` in front of the call"
    contract = "nothing" if use.result is None else use.result.__name__
    return StoredError(WRONG_RESULT, Category.INTERNAL.value, f"{use.id!r} declares {contract} and gave {given}")


class OpenTransaction:
    """The transaction of one step: opened when the step first asks, closed with the step's row in it."""

    def __init__(self, begin: Callable[[], AbstractAsyncContextManager[StepTransaction]]) -> None:
        self._begin = begin
        self._stack = AsyncExitStack()
        self._transaction: StepTransaction | None = None

    @property
    def is_open(self) -> bool:
        return self._transaction is not None

    @asynccontextmanager
    async def join(self) -> AsyncIterator[Any]:
        """The connection. An exception that leaves the block undoes what was done on it."""
        if self._transaction is None:
            self._transaction = await self._stack.enter_async_context(self._begin())
        try:
            yield self._transaction.connection
        except BaseException:
            await self.roll_back()
            raise

    async def commit(self, commit: Commit) -> None:
        """Write the row and make both durable.

        Raises:
            Disowned: the journal refused the row; the step's work is undone.
        """
        assert self._transaction is not None
        answer = await self._transaction.commit(commit)
        await self._stack.aclose()
        if isinstance(answer, Refused):
            raise Disowned(answer.reason, answer.detail)

    async def roll_back(self) -> None:
        """Undo what was done on the connection; harmless where nothing is open."""
        self._transaction = None
        await self._stack.aclose()


def _report(error: Exception, request: Any, context: StepRun) -> None:
    """Log a defect with its traceback, without what must not be said aloud."""
    _LOG.error(
        "capability %s of %s failed in instance %s, attempt %s: an exception that is no FlowError is a defect\n%s",
        context.capability_id,
        context.flow_id,
        context.instance_id,
        context.attempt,
        told_to_log(error, (request, *context.in_sight())),
    )


def _since(begun: float) -> int:
    return int((time.perf_counter() - begun) * 1000)
