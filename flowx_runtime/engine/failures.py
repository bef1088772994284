"""How a run ends early, and the codes the engine itself ends one with."""

from __future__ import annotations

from typing import ClassVar

from flowx_runtime.authoring.errors import FlowError, FlowxError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.codec import redact
from flowx_runtime.journal.records import Refusal, StepRow, StoredError

UNHANDLED = "capability.unhandled"
WRONG_RESULT = "capability.wrong_result"
UNDO_UNREADABLE = "flow.undo_unreadable"
DEADLINE_EXCEEDED = "flow.deadline_exceeded"
VALUE_MISSING = "flow.value_missing"
PREDICATE_FAILED = "flow.predicate_failed"
SELECTOR_FAILED = "flow.selector_failed"
MAP_FAILED = "flow.map_failed"
PROJECTION_FAILED = "flow.projection_failed"
POLL_NOT_SATISFIED = "flow.poll_not_satisfied"
SIGNAL_INVALID = "flow.signal_invalid"
SIGNAL_NOT_RECEIVED = "flow.signal_not_received"
MERGE_NOT_SATISFIED = "flow.merge_not_satisfied"
SUB_FLOW_CANNOT_WAIT = "flow.sub_flow_cannot_wait"


class FlowFailure(Exception):  # it carries the failure of a flow; nobody outside the engine meets it
    """The flow fails here. Carries the row that says so, where a step of its own failed."""

    def __init__(self, error: StoredError, row: StepRow | None = None) -> None:
        super().__init__(error.code)
        self.error = error
        self.row = row


class Disowned(Exception):
    """The journal takes no more from this run: somebody else owns the instance, or it has ended."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)
        self.reason = reason


class SignalArrived(Exception):
    """Parking was refused because a signal for one of the waits has come in: read the history and go on."""


class ValueMissing(FlowxError):
    """Nothing left a value of this contract: no earlier step on this path gives one."""

    code: ClassVar[str] = VALUE_MISSING


def failure(code: str, category: Category, detail: str) -> FlowFailure:
    """The engine's own verdict."""
    return FlowFailure(StoredError(code, category.value, detail))


def stored_error(error: Exception, values: tuple[object, ...], *, code: str) -> StoredError:
    """What is kept of an exception; a business error speaks for itself, any other is a defect called `code`."""
    if isinstance(error, FlowError):
        return StoredError(error.code or UNHANDLED, error.category.value, redact(str(error), values))
    if isinstance(error, ValueMissing):
        code = error.code
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return StoredError(code, Category.INTERNAL.value, redact(detail, values))
