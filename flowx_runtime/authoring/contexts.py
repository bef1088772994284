"""What authored code may see of the run it is part of. The engine implements both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload
from uuid import UUID

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from flowx_runtime.authoring.backoff import Backoff

In_co = TypeVar("In_co", covariant=True)
T = TypeVar("T")

BY_NUMBER: Final[object] = object()
"""The passes of a step are told apart by the order they come in. `None` is a value like any other, and refused."""


class Logger(Protocol):
    """A logger bound to the running step."""

    def debug(self, message: str, /, **facts: object) -> None: ...
    def info(self, message: str, /, **facts: object) -> None: ...
    def warning(self, message: str, /, **facts: object) -> None: ...
    def error(self, message: str, /, **facts: object) -> None: ...


class ErrorView(Protocol):
    """The stored failure of a flow, as `emit_on_failure` may read it."""

    @property
    def code(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def detail(self) -> str: ...


class FlowContext(Protocol[In_co]):
    """What a predicate, selector, map or projection may read. It has no way to write."""

    @property
    def input(self) -> In_co:
        """The flow's input."""

    @property
    def utc_now(self) -> datetime:
        """The engine's clock, recorded so that a resumed run reads the same instant."""

    @property
    def error(self) -> ErrorView:
        """The failure that ends the flow; only `emit_on_failure` may read it."""

    def get(self, contract: type[T], /) -> T:
        """The value of exactly this contract that an earlier step left."""

    def find(self, contract: type[T], /) -> T | None:
        """Like `get`, or `None` where nothing left one."""

    def results(self, contract: type[T], /) -> Sequence[T]:
        """What the elements of a finished loop left, in element order."""


class StepContext(Protocol):
    """What a capability may know of its execution."""

    @property
    def utc_now(self) -> datetime:
        """The instant this attempt started, timezone-aware, recorded with its row."""

    @property
    def random(self) -> Random:
        """Randomness that belongs to this row: a draw elsewhere never shifts it."""

    @property
    def idempotency_key(self) -> str:
        """Opaque; the same for every attempt, poll and resume of this step; a compensation has its own."""

    @property
    def instance_id(self) -> UUID: ...
    @property
    def flow_id(self) -> str: ...
    @property
    def capability_id(self) -> str: ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""

    @property
    def scope(self) -> str:
        """The loop element or poll attempt (`"7"`, `"7/2"`); empty on the main line."""

    @property
    def compensating_for(self) -> str | None:
        """The capability id being undone, or `None` on the way forward."""

    @property
    def principal(self) -> str | None:
        """Who asked for this; `None` where the platform itself continues."""

    @property
    def deadline(self) -> datetime | None: ...
    @property
    def log(self) -> Logger: ...

    def new_id(self) -> UUID:
        """A time-ordered id, recorded with this row."""

    @overload
    def once(
        self,
        label: str,
        work: Callable[[], Awaitable[T]],
        /,
        *,
        each: object = BY_NUMBER,
        scope: object = None,
        retry: Backoff | None = None,
        returns: Any = None,
    ) -> Awaitable[T]: ...
    @overload
    def once(
        self,
        label: str,
        work: Callable[[str], Awaitable[T]],
        /,
        *,
        each: object = BY_NUMBER,
        scope: object = None,
        retry: Backoff | None = None,
        returns: Any = None,
    ) -> Awaitable[T]: ...
    @overload
    def once(
        self,
        label: str,
        work: Callable[[], T],
        /,
        *,
        each: object = BY_NUMBER,
        scope: object = None,
        retry: Backoff | None = None,
        returns: Any = None,
    ) -> Awaitable[T]: ...
    @overload
    def once(
        self,
        label: str,
        work: Callable[[str], T],
        /,
        *,
        each: object = BY_NUMBER,
        scope: object = None,
        retry: Backoff | None = None,
        returns: Any = None,
    ) -> Awaitable[T]: ...
    def once(
        self,
        label: str,
        work: Callable[..., Any],
        /,
        *,
        each: object = BY_NUMBER,
        scope: object = None,
        retry: Backoff | None = None,
        returns: Any = None,
    ) -> Awaitable[Any]:
        """A step that runs at most once in this execution of the capability, however often its body is entered.

        Its first result is recorded at once, on its own, and given back to every later attempt; `None` counts as a
        result. A crash between the effect and its record repeats the effect: the key closes that window on the
        other side.

        Args:
            label: what the step does; with the flow, the step and the helpers on the way it is its identity.
            work: called without anything, or with an idempotency key to pass on: opaque, and the same for every
                attempt of this step in this run.
            each: which pass of a loop this is, by what it is about (`each=line.sku`). Passes are numbered in the order
                they come here without it, which holds only where every pass does, and in the same order again.
            scope: what the work is about, for example an order's id: every run about it presents the same key.
            retry: try again after a failure that may pass. The instance parks, and the body is entered again from the
                top; cap it with `.max_attempts(n)`.
            returns: the type of the result, where JSON, a contract or a single value does not say it.
        """

    def durable(self, port: T, /, *, name: str | None = None) -> T:
        """The port, every async method of which is a step that runs at most once, named `Port.method`.

        Args:
            port: any object; it is named by the protocol that its class implements, else by its class.
            name: another name for it.
        """

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """A psycopg connection whose work commits together with this step's row.

        Raises:
            FlowxError: the flow is not durable, or its journal is not PostgreSQL.
        """
