"""What a run did, as data: the same on every store, and readable when it is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from flowx_runtime.journal.records import RowOutcome, State, StepRow, StoredError

_LONGEST: Final = 20
"""Lines of steps that are printed; a failing test is to be read at a glance."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One attempt that the journal has."""

    flow: str
    scope: str
    step: int
    attempt: int
    name: str
    capability: str
    outcome: str
    error: str | None
    at: datetime | None
    is_call: bool
    """Whether it is a capability's, and not a signal's, a delay's or an event's."""

    def __str__(self) -> str:
        label = self.capability or "fail"
        named = f" as {self.name}" if self.name not in ("", label) else ""
        scope = f" ({self.scope})" if self.scope else ""
        again = f" attempt {self.attempt}" if self.attempt > 1 and self.outcome != "Compensated" else ""
        return f"{label}{named}{scope}{again}: {self.outcome}{f' with {self.error}' if self.error else ''}"


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait that the run parked on."""

    step: str
    scope: str
    until: datetime
    signal: str | None

    def __str__(self) -> str:
        scope = f" ({self.scope})" if self.scope else ""
        ending = f" or signal {self.signal}" if self.signal else ""
        return f"{self.step}{scope} until {self.until:%Y-%m-%d %H:%M:%S}{ending}"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """An event that became visible."""

    type: str
    version: str
    payload: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One run with the children it ran, in commit order."""

    flow: str
    state: State
    error: StoredError | None
    output: str | None
    rows: tuple[TraceRow, ...]
    waits: tuple[Waited, ...]
    open_waits: tuple[Waited, ...]
    events: tuple[TraceEvent, ...]
    leases_held: int
    once: tuple[str, ...] = ()
    """The paths of the steps inside capabilities that are recorded, and so are not run again."""

    @property
    def executed(self) -> list[str]:
        """The capabilities that answered, an entry per step, attempt of a poll and element of a loop."""
        return [row.capability for row in self.rows if row.is_call and row.outcome == RowOutcome.SUCCESS.value]

    @property
    def compensated(self) -> list[str]:
        """The capabilities that undid something, in the order they did."""
        return [row.capability for row in self.rows if row.outcome == RowOutcome.COMPENSATED.value]

    @property
    def signals(self) -> list[str]:
        """The signals that were consumed."""
        awaited = {wait.signal for wait in self.waits}
        return [row.capability for row in self.rows if not row.is_call and row.capability in awaited]

    @property
    def headline(self) -> str:
        """How the run stands, on one line."""
        if self.error is not None and self.state.is_terminal:
            return f"{self.flow} is {self.state.value} with {self.error.code}: {self.error.detail}"
        if self.state is State.COMPLETED:
            return f"{self.flow} is Completed{'' if self.output is None else f' with {self.output}'}"
        waits = "; ".join(map(str, self.open_waits))
        return f"{self.flow} is {self.state.value}{f', awaiting {waits}' if waits else ''}"

    def __str__(self) -> str:
        lines = list(_folded(self.rows))
        if len(lines) > _LONGEST:
            lines = [*lines[: _LONGEST // 2], f"… {len(lines) - _LONGEST} more …", *lines[-_LONGEST // 2 :]]
        lines += [f"event    {event.type} {event.payload}" for event in self.events]
        lines += [f"once     {path}" for path in self.once]
        return "\n".join([self.headline, *(f"  {line}" for line in lines)])


def row_of(flow: str, row: StepRow, *, is_call: bool) -> TraceRow:
    """A row of the journal without what differs from store to store."""
    return TraceRow(
        flow=flow,
        scope=row.scope,
        step=row.step_id,
        attempt=row.attempt,
        name=row.name,
        capability=row.capability_id,
        outcome=row.outcome.value,
        error=None if row.error is None else row.error.code,
        at=row.captured.utc_now,
        is_call=is_call,
    )


def _folded(rows: Sequence[TraceRow]) -> Iterator[str]:
    """A line per row; the attempts of a poll that ended alike share one."""
    for _, group in groupby(rows, key=lambda row: (row.flow, row.step, row.capability, row.outcome, row.error)):
        alike = list(group)
        first, last = alike[0], alike[-1]
        at = f"{first.at:%H:%M:%S}" if first.at is not None else " " * 8
        more = f"  {len(alike)} times, the last {last.at:%d %H:%M:%S}" if len(alike) > 1 and last.at is not None else ""
        yield f"{at} {first}{more}"
