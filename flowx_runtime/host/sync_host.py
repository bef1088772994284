"""The host for code that does not await: Flask, Django, scripts."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Final, TypeVar
from uuid import UUID

from flowx_runtime.engine.replay import Replayed
from flowx_runtime.host.errors import HostClosed, HostForked
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Outcome
from flowx_runtime.host.plans import AnyPlan
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import History
from flowx_runtime.plan.catalog import Catalog

T = TypeVar("T")

_LOG = logging.getLogger("flowx.host")

_LAST_WORDS: Final = 5.0
"""Seconds that what was cancelled may take to end."""


class SyncFlowHost:
    """A `FlowHost` on an event loop of its own, in a background thread. Every method may be called from any thread.

    ::

        with SyncFlowHost(CATALOG, [UploadToOcr(ocr)], journal=lambda: PostgresJournal.open(dsn)) as host:
            outcome = host.run("document.process", SubmitDocument(...))

    Calls block until they are answered and raise what `FlowHost` raises. Parked flows go on in the background for as
    long as the host is open. Make one per process, after a server has forked its workers.

    Args:
        plans: the generated `CATALOG`, or plans.
        capabilities: as for `FlowHost`.
        journal: opens the journal on the host's loop (`lambda: PostgresJournal.open(dsn)`); one that is tied to no
            loop, such as `MemoryJournal()`, may be given as it is.
        settings: everything else that `FlowHost` takes.

    Raises:
        FlowxError: what opening the journal or the host raises; no thread is left behind.
    """

    def __init__(
        self,
        plans: Catalog | Iterable[AnyPlan],
        capabilities: Iterable[Any] = (),
        *,
        journal: Callable[[], Awaitable[Journal]] | Journal | None = None,
        **settings: Any,
    ) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._serve, name="flowx host", daemon=True)
        self._thread.start()
        try:
            self._host = self._wait(self._open(plans, capabilities, journal, settings))
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> SyncFlowHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, plan: AnyPlan | str, input: Any, **options: Any) -> Outcome:
        """See `FlowHost.run`, whose keywords it takes."""
        return self._call(lambda host: host.run(plan, input, **options))

    def signal(self, instance_id: UUID, message: Any, *, delivery_id: str | None = None) -> None:
        """See `FlowHost.signal`."""
        self._call(lambda host: host.signal(instance_id, message, delivery_id=delivery_id))

    def outcome(self, instance_id: UUID) -> Outcome:
        """See `FlowHost.outcome`."""
        return self._call(lambda host: host.outcome(instance_id))

    def inspect(self, instance_id: UUID) -> History:
        """See `FlowHost.inspect`."""
        return self._call(lambda host: host.inspect(instance_id))

    def resume(self, instance_id: UUID) -> Outcome:
        """See `FlowHost.resume`."""
        return self._call(lambda host: host.resume(instance_id))

    def retry(self, instance_id: UUID, by: str = "") -> Outcome:
        """See `FlowHost.retry`."""
        return self._call(lambda host: host.retry(instance_id, by))

    def cancel(self, instance_id: UUID, reason: str = "") -> Outcome:
        """See `FlowHost.cancel`."""
        return self._call(lambda host: host.cancel(instance_id, reason))

    def replay(self, instance_id: UUID) -> Replayed:
        """See `FlowHost.replay`."""
        return self._call(lambda host: host.replay(instance_id))

    def close(self) -> None:
        """Take nothing more, let what is under way park or end, and end the thread. Closing twice is harmless."""
        self._refuse_forked()
        with self._closing:
            if self._is_closed:
                return
            self._refuse_own_thread()
            try:
                self._wait(self._host.close())
            finally:
                self._is_closed = True
                self._stop()

    def _call(self, ask: Callable[[FlowHost], Coroutine[Any, Any, T]]) -> T:
        self._refuse_forked()
        if self._is_closed:
            raise HostClosed("this host has been closed; make another one")
        self._refuse_own_thread()
        return self._wait(ask(self._host))

    def _refuse_forked(self) -> None:
        if os.getpid() != self._process:  # a fork takes no threads along: nobody would ever answer
            raise HostForked(
                "this host was made before this process was forked and its thread was left behind: make the host "
                "after the fork, one in each process"
            )

    def _refuse_own_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise HostClosed("a capability must not wait for its own host: make the capability async, or call another")

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise HostClosed(
                "this host was closed while the call was under way; what it did is in the journal"
            ) from None
        except BaseException:
            # The caller was interrupted: the flow it waited for stops too, and is recovered by the next host.
            future.cancel()
            raise

    @staticmethod
    async def _open(
        plans: Catalog | Iterable[AnyPlan],
        capabilities: Iterable[Any],
        journal: Callable[[], Awaitable[Journal]] | Journal | None,
        settings: dict[str, Any],
    ) -> FlowHost:
        opened: Journal | None = await journal() if callable(journal) else journal
        try:
            host = FlowHost(plans, capabilities, journal=opened, **settings)
        except BaseException:
            if opened is not None:
                await opened.close()
            raise
        return await host.__aenter__()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                _, stuck = self._loop.run_until_complete(asyncio.wait(left, timeout=_LAST_WORDS))
                if stuck:
                    _LOG.error("left though %s tasks would not stop when they were cancelled", len(stuck))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
