"""What a capability sees of its execution."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from random import Random
from typing import Any, ClassVar
from uuid import UUID

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.contexts import BY_NUMBER, Logger
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.identity import idempotency_key, mint_id, undo_idempotency_key
from flowx_runtime.engine.once.port import DurablePort, port_name
from flowx_runtime.engine.once.run import Execution
from flowx_runtime.engine.redaction import redact
from flowx_runtime.journal.records import Captured

_LOG = logging.getLogger("flowx.capability")


class TransactionUnavailable(FlowxError):
    """This step cannot commit together with its row: use a durable flow on PostgreSQL, in an async capability."""

    code: ClassVar[str] = "flow.transaction_unavailable"


class OnceUnavailable(FlowxError):
    """A context that no engine made has nowhere to keep the steps of a capability."""

    code: ClassVar[str] = "flow.once_unavailable"


class BoundLogger:
    """Adds to every line which step of which instance wrote it, and takes what is sensitive out of it."""

    __slots__ = ("_facts", "_in_sight")

    def __init__(self, facts: dict[str, object], in_sight: Callable[[], Iterable[Any]]) -> None:
        self._facts = facts
        self._in_sight = in_sight

    def debug(self, message: str, /, **facts: object) -> None:
        self._write(logging.DEBUG, message, facts)

    def info(self, message: str, /, **facts: object) -> None:
        self._write(logging.INFO, message, facts)

    def warning(self, message: str, /, **facts: object) -> None:
        self._write(logging.WARNING, message, facts)

    def error(self, message: str, /, **facts: object) -> None:
        self._write(logging.ERROR, message, facts)

    def _write(self, level: int, message: str, facts: dict[str, object]) -> None:
        if _LOG.isEnabledFor(level):
            secrets = (*self._in_sight(), *facts.values())
            bound = self._facts | {name: _without(secrets, fact) for name, fact in facts.items()}
            told = " ".join(f"{name}={fact}" for name, fact in bound.items())
            _LOG.log(level, "%s %s", redact(message, secrets), told, extra={"flowx": bound})


def _without(secrets: Iterable[Any], fact: object) -> object:
    text = str(fact)
    told = redact(text, secrets)
    return fact if told == text else told


class StepRun:
    """One attempt at one step. Implements `StepContext`.

    What few capabilities ask for (the key, ids, randomness) is made when it is asked for. What was read from outside
    is recorded with this attempt's own row and nobody else's.
    """

    __slots__ = (
        "_ids",
        "_known",
        "_random",
        "_seed",
        "attempt",
        "bag",
        "capability_id",
        "compensating_for",
        "deadline",
        "effect_scope",
        "execution",
        "flow_id",
        "instance_id",
        "name",
        "open_execution",
        "principal",
        "randbits",
        "scope",
        "step_transaction",
        "utc_now",
    )

    def __init__(  # made once per step: keywords would cost a third of it
        self,
        utc_now: datetime,
        instance_id: UUID,
        flow_id: str,
        capability_id: str,
        name: str,
        attempt: int,
        scope: str,
        effect_scope: str,
        deadline: datetime | None = None,
        principal: str | None = None,
        compensating_for: str | None = None,
        bag: Bag | None = None,
    ) -> None:
        self.utc_now = utc_now
        self.instance_id = instance_id
        self.flow_id = flow_id
        self.capability_id = capability_id
        self.name = name
        self.attempt = attempt
        self.scope = scope
        self.effect_scope = effect_scope
        """The scope of the one effect that all attempts of a step share: of a poll, the poll's own."""
        self.deadline = deadline
        self.principal = principal
        self.compensating_for = compensating_for
        self.bag = bag
        self.step_transaction: Any = None
        """Begins the step's transaction; `None` where the journal has none."""
        self.randbits: Callable[[int], int] = secrets.randbits
        """Where ids and seeds come from; a test host gives what repeats."""
        self.open_execution: Callable[[StepRun], Execution] | None = None
        """Begins to keep the steps that this execution runs once."""
        self.execution: Execution | None = None
        """Those steps, where there is one."""
        self._known: tuple[UUID, ...] = ()
        """Ids that an earlier attempt minted, which this one gets again."""
        self._ids: tuple[UUID, ...] = ()
        self._seed: int | None = None
        self._random: Random | None = None

    @property
    def idempotency_key(self) -> str:
        of = idempotency_key if self.compensating_for is None else undo_idempotency_key
        return of(self.instance_id, self.effect_scope, self.name)

    @property
    def random(self) -> Random:
        """Seeded when it is first asked for; the seed is recorded."""
        if self._random is None:
            if self._seed is None:
                self._seed = self.randbits(63)
            self._random = Random(self._seed)
        return self._random

    def new_id(self) -> UUID:
        so_far = len(self._ids)
        minted = self._known[so_far] if so_far < len(self._known) else mint_id(self.utc_now, self.randbits)
        self._ids = (*self._ids, minted)
        return minted

    def captured(self) -> Captured:
        """What this attempt read from outside."""
        return Captured(self.utc_now, self._ids, self._seed)

    def in_sight(self) -> Iterable[Any]:
        """Every value the step could know of: what it says aloud quotes none of their sensitive members."""
        return () if self.bag is None else self.bag.everything()

    @property
    def log(self) -> Logger:
        facts: dict[str, object] = {
            "flow": self.flow_id,
            "instance": self.instance_id,
            "capability": self.capability_id,
            "attempt": self.attempt,
        }
        if self.scope:
            facts["scope"] = self.scope
        return BoundLogger(facts, self.in_sight)

    def take_over(self, other: StepRun) -> None:
        """Let what another context of the same attempt read from outside be what this one read."""
        self._ids, self._seed, self.execution = other._ids, other._seed, other.execution

    async def resume_execution(self) -> None:
        """Read from outside what an earlier attempt read that left the body to come back to it."""
        captured = await self._execution().resume()
        if captured is not None:
            self.utc_now = captured.utc_now or self.utc_now
            self._known, self._seed = captured.ids, captured.random_seed

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
        """See `StepContext.once`."""
        return self._execution().step(label, work, each=each, scope=scope, retry=retry, returns=returns)

    def durable(self, port: Any, /, *, name: str | None = None) -> Any:
        """See `StepContext.durable`."""
        execution = self._execution()

        def once(label: str, work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
            # Inside a step that has a label, the call is that step.
            if execution.is_inside_a_step:
                return work()
            return execution.step(label, work, scope=None, retry=None, returns=None)

        return DurablePort(port, name or port_name(port), once)

    def _execution(self) -> Execution:
        if self.execution is None:
            if self.open_execution is None:
                raise OnceUnavailable(f"{self.capability_id!r} runs where no steps are kept: run it in a flow")
            self.execution = self.open_execution(self)
        return self.execution

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """See `StepContext.transaction`."""
        if self.step_transaction is None:
            raise TransactionUnavailable(
                f"{self.capability_id!r} asked for a transaction, which a durable flow on a PostgreSQL journal has"
            )
        begun: AbstractAsyncContextManager[Any] = self.step_transaction()
        return begun
