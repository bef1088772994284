"""What a capability sees of its execution."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, ClassVar
from uuid import UUID

from flowx_runtime.authoring.contexts import Logger
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.capture import Capture

_LOG = logging.getLogger("flowx.capability")


class TransactionUnavailable(FlowxError):
    """This step cannot commit together with its row: use a durable flow on PostgreSQL, in an async capability."""

    code: ClassVar[str] = "flow.transaction_unavailable"


class BoundLogger:
    """Adds to every line which step of which instance wrote it."""

    __slots__ = ("_facts",)

    def __init__(self, facts: dict[str, object]) -> None:
        self._facts = facts

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
            bound = self._facts | facts
            _LOG.log(level, "%s %s", message, " ".join(f"{k}={v}" for k, v in bound.items()), extra={"flowx": bound})


@dataclass(slots=True)
class StepRun:
    """One attempt at one step. Implements `StepContext`."""

    capture: Capture
    instance_id: UUID
    flow_id: str
    capability_id: str
    attempt: int
    scope: str
    idempotency_key: str
    deadline: datetime | None = None
    principal: str | None = None
    compensating_for: str | None = None
    step_transaction: Any = None
    """Begins the step's transaction; `None` where the journal has none."""

    @property
    def utc_now(self) -> datetime:
        return self.capture.utc_now

    @property
    def random(self) -> Random:
        return self.capture.random

    def new_id(self) -> UUID:
        return self.capture.new_id()

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
        return BoundLogger(facts)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """See `StepContext.transaction`."""
        if self.step_transaction is None:
            raise TransactionUnavailable(
                f"{self.capability_id!r} asked for a transaction, which a durable flow on a PostgreSQL journal has"
            )
        begun: AbstractAsyncContextManager[Any] = self.step_transaction()
        return begun
