"""One run of a flow in a test: what became of it, and what to do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from flowx_runtime.host.outcome import Completed, Failed, Outcome, Suspended
from flowx_runtime.journal.records import State
from flowx_runtime.testing.trace import Trace

if TYPE_CHECKING:
    from flowx_runtime.testing.flow_test_host import FlowTestHost

__tracebackhide__ = True  # a failed test shows its own lines


class Verdict:
    """True or false, and why; a failed `assert` prints it."""

    __slots__ = ("_holds", "_why")

    def __init__(self, why: str, *, holds: bool) -> None:
        self._holds = holds
        self._why = why

    def __bool__(self) -> bool:
        return self._holds

    def __repr__(self) -> str:
        return f"<{'yes' if self._holds else 'no'}: {self._why}>"


class FlowRun:
    """A run that `FlowTestHost.start` gave. It says how it stood when the host came to rest last."""

    def __init__(self, host: FlowTestHost, instance_id: UUID) -> None:
        self._host = host
        self.instance_id = instance_id
        self.asked: list[str] = []
        """What the test asked of it that did not hold."""

    @property
    def trace(self) -> Trace:
        """What it did."""
        return self._host.trace_of(self.instance_id)

    @property
    def outcome(self) -> Outcome:
        """How it stands."""
        return self._host.outcome_of(self.instance_id)

    @property
    def state(self) -> State:
        """Where it is in its life."""
        return self.trace.state

    @property
    def suspended(self) -> Verdict:
        """Whether it is parked, and so holds nothing."""
        return self._verdict("it to be suspended", holds=self.state is State.SUSPENDED)

    @property
    def cancelled(self) -> Verdict:
        """Whether it was cancelled."""
        return self._verdict("it to be cancelled", holds=self.state is State.CANCELLED)

    @property
    def awaiting(self) -> tuple[str, ...]:
        """Ids of the signals that would continue it now."""
        outcome = self.outcome
        return outcome.awaiting if isinstance(outcome, Suspended) else ()

    def completed_with(self, value: Any = ..., /, **members: Any) -> Verdict:
        """Whether it completed; with a value, with exactly it; with members, with an output that has them."""
        outcome = self.outcome
        wanted = [] if value is ... else [repr(value)]
        wanted += [f"{name}={member!r}" for name, member in members.items()]
        holds = isinstance(outcome, Completed) and value in (..., outcome.value)
        holds = holds and all(getattr(_value(outcome), name, ...) == member for name, member in members.items())
        return self._verdict(" with ".join(filter(None, ["it to complete", ", ".join(wanted)])), holds=holds)

    def failed_with(self, code: str) -> Verdict:
        """Whether it ended with the error of this code."""
        outcome = self.outcome
        return self._verdict(
            f"it to fail with {code}", holds=isinstance(outcome, Failed) and outcome.error.code == code
        )

    async def signal(self, message: Any, *, delivery_id: str | None = None) -> None:
        """Deliver a signal now; if the run waits for it, it goes on before this returns."""
        await self._host.signal(self, message, delivery_id=delivery_id)

    async def cancel(self, reason: str = "") -> None:
        """Ask for the run to be cancelled; a parked one is undone before this returns."""
        await self._host.cancel(self, reason)

    def __repr__(self) -> str:
        return f"<{self.trace.headline}>"

    def __str__(self) -> str:
        return str(self.trace)

    def _verdict(self, expected: str, *, holds: bool) -> Verdict:
        why = self.trace.headline if holds else f"{self.trace.headline}; expected {expected}"
        if not holds:
            self.asked.append(expected)
        return Verdict(why, holds=holds)


def _value(outcome: Outcome) -> Any:
    return outcome.value if isinstance(outcome, Completed) else None
