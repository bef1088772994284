"""How a run ends early, and the codes the engine itself ends one with."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import ClassVar

from pydantic import ValidationError

from flowx_runtime.authoring.errors import FlowError, FlowxError, said_by
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.documents import ValueNotKept, ValueTooLarge
from flowx_runtime.engine.redaction import NEEDS_KEY_RING, Redacted, ValueRedacted, redact
from flowx_runtime.journal.records import Delivery, Refusal, StepRow, StoredError

UNHANDLED = "capability.unhandled"
WRONG_RESULT = "capability.wrong_result"
UNDO_UNREADABLE = "flow.undo_unreadable"
DEADLINE_EXCEEDED = "flow.deadline_exceeded"
CANCELLED = "flow.cancelled"
TOO_DEEP = "flow.sub_flow_too_deep"
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

    def __init__(self, error: StoredError, row: StepRow | None = None, *, taken: Delivery | None = None) -> None:
        super().__init__(error.code)
        self.error = error
        self.row = row
        self.taken = taken
        self.at: tuple[str, int] | None = None
        """Scope and index of the node that failed."""
        """The delivery that the row takes."""


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


def stored_error(error: Exception, values: Iterable[object], *, code: str) -> StoredError:
    """What is kept of an exception; a business error speaks for itself, any other is a defect called `code`."""
    if isinstance(error, FlowError):
        return StoredError(error.code or UNHANDLED, error.category.value, redact(said_by(error), values))
    if _met_a_hole(error):
        error = ValueRedacted(NEEDS_KEY_RING)
    if isinstance(error, ValueMissing | ValueRedacted | ValueTooLarge | ValueNotKept):
        code = error.code
    text = _text(error)
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return StoredError(code, Category.INTERNAL.value, redact(detail, values))


def _met_a_hole(error: Exception) -> bool:
    """Whether a contract was to be built from a value that was not kept."""
    return isinstance(error, ValidationError) and any(
        isinstance(problem["input"], Redacted) for problem in error.errors()
    )


def told_to_log(error: BaseException, values: Iterable[object]) -> str:
    """An exception with its traceback and its causes, without what must not be said aloud."""
    parts: list[str] = []
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if not isinstance(current, FlowFailure):  # why a flow goes back is in its row; this is about an undo on the way
            frames = "".join(traceback.format_tb(current.__traceback__))
            parts.append(f"Traceback (most recent call last):\n{frames}{type(current).__name__}: {_text(current)}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return redact("\n\nwhich came after:\n\n".join(parts), values)


def _text(error: BaseException) -> str:
    """What an exception says. pydantic quotes the input it refuses, shortened, so that no search would find it."""
    if not isinstance(error, ValidationError):
        return said_by(error)
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    places = (".".join(map(str, problem["loc"])) or "the value" for problem in problems)
    listed = "; ".join(f"{place}: {problem['msg']}" for place, problem in zip(places, problems, strict=True))
    return f"{error.error_count()} problems in {error.title}: {listed}"
