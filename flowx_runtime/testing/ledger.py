"""Everything that happened to the flows of one test host, whichever host did it, and what must not have happened.

It outlives every host that is killed: it is what an observer outside would have seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from flowx_runtime.journal.records import Commit, RowOutcome, State, StepRow, Wait
from flowx_runtime.plan.nodes import AwaitSignal, Poll, Step
from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.places import may_overlap

Execution: TypeAlias = tuple[UUID, str, str, str]
"""Instance, scope, step and capability: the one effect that all attempts of a step share."""

_DONE = frozenset({RowOutcome.SUCCESS, RowOutcome.COMPENSATED, RowOutcome.DEGRADED})


@dataclass(slots=True)
class Call:
    """One call of one capability."""

    host: int
    instance_id: UUID
    flow_id: str
    scope: str
    name: str
    capability_id: str
    attempt: int
    compensates: str | None
    request: Any
    at: datetime
    fence: int
    """The lease under which it was made."""
    answer: Any = None
    error: BaseException | None = None
    has_answered: bool = False
    is_durable: bool = False
    """Whether the row of this very call has been written."""

    @property
    def execution(self) -> Execution:
        """What it is an attempt at."""
        return (self.instance_id, self.scope, self.name, self.capability_id)

    def __str__(self) -> str:
        scope = f" (scope {self.scope})" if self.scope else ""
        return f"{self.name if self.compensates is None else self.capability_id}{scope}"


@dataclass(frozen=True, slots=True)
class Boundary:
    """One write to the journal: where a host may die just before it and just after it."""

    number: int
    what: str
    steps: tuple[str, ...] = ()
    """Names and capabilities of the rows in it."""

    def __str__(self) -> str:
        return f"write {self.number} ({self.what})"


@dataclass(slots=True)
class Ledger:
    """What was called, written, delivered and found wrong, in order."""

    now: Callable[[], datetime]
    plan_of: Callable[[str], Plan[Any, Any] | None]
    calls: list[Call] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    commits: list[tuple[datetime, Commit]] = field(default_factory=list)
    flows: dict[UUID, str] = field(default_factory=dict)
    started: dict[UUID, datetime] = field(default_factory=dict)
    states: dict[UUID, State] = field(default_factory=dict)
    waits: dict[UUID, tuple[Wait, ...]] = field(default_factory=dict)
    parents: dict[UUID, UUID | None] = field(default_factory=dict)
    fences: dict[UUID, int] = field(default_factory=dict)
    """The newest lease that was given out for each instance."""
    order: dict[tuple[UUID, str, int, int], int] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What no run may do; the engine's fault."""
    faults: list[AssertionError] = field(default_factory=list)
    """What the test itself does wrong."""
    _done: set[Execution] = field(default_factory=set)
    _not_durable: list[Call] = field(default_factory=list)
    _delivered: dict[UUID, dict[str, str]] = field(default_factory=dict)
    _deliveries: int = 0
    _consumed: Counter[tuple[UUID, str]] = field(default_factory=Counter)

    def boundary(self, what: str, commit: Commit | None = None) -> Boundary:
        """Note that the journal is about to be written to."""
        steps = () if commit is None else tuple(part for row in commit.rows for part in (row.name, row.capability_id))
        found = Boundary(len(self.boundaries) + 1, what, tuple(filter(None, steps)))
        self.boundaries.append(found)
        return found

    def begin(self, call: Call) -> None:
        """Note a call, and hold it against what was written before it."""
        is_owner = call.fence >= self.fences.get(call.instance_id, 0)
        if call.execution in self._done and is_owner:  # who does not know yet that it lost its lease may repeat one
            self.wrong.append(f"{call} was called again although its row had been written")
        plan = self.plan_of(call.flow_id)
        if plan is not None and call.compensates is None and call.instance_id in self.flows:
            for earlier in self._answered_before(call):
                if not may_overlap(plan, self._place(plan, earlier), self._place(plan, call)):
                    self.wrong.append(f"{call} was called before the row of {earlier} was written")
        if call.compensates is not None:
            self._check_undo(call)
        self.calls.append(call)
        self._not_durable.append(call)

    def park(self, call: Call) -> None:
        """Note that a call gave no answer: a step inside it is to be tried again, and it will be called again."""
        call.has_answered = False
        self._not_durable.remove(call)

    def own(self, instance_id: UUID, fence: int) -> None:
        """Note that somebody has an instance."""
        self.fences[instance_id] = max(fence, self.fences.get(instance_id, 0))

    def end(self, call: Call, *, answer: Any = None, error: BaseException | None = None) -> None:
        """Note how a call ended."""
        call.has_answered, call.answer, call.error = True, answer, error

    def start(self, instance_id: UUID, flow_id: str, parent: UUID | None) -> None:
        """Note an instance."""
        if instance_id not in self.flows:
            self.flows[instance_id] = flow_id
            self.started[instance_id] = self.now()
            self.states[instance_id] = State.RUNNING
            self.parents[instance_id] = parent

    def commit(self, commit: Commit) -> None:
        """Note a commit that is durable."""
        self.commits.append((self.now(), commit))
        for row in commit.rows:
            key = (commit.instance_id, row.scope, row.step_id, row.attempt)
            self.order.setdefault(key, len(self.order))
            self._note_row(commit, row)
        if commit.parent_delivery is not None:
            parent = self.parents.get(commit.instance_id)
            if parent is not None:
                self.deliver(parent, commit.parent_delivery.delivery_id, commit.parent_delivery.signal_id)
        if commit.state is not None:
            self.states[commit.instance_id] = commit.state
            self.waits[commit.instance_id] = commit.waits

    def deliver(self, instance_id: UUID, delivery_id: str, signal_id: str) -> None:
        """Note a signal that an instance has."""
        self._delivered.setdefault(instance_id, {})[delivery_id] = signal_id
        self._deliveries += 1

    def ask_to_cancel(self) -> None:
        """Note that an instance is to be cancelled."""
        self._deliveries += 1

    def has_row(self, step: str, *, instance_id: UUID | None = None) -> bool:
        """Whether a step, by its name or capability, has a row that says it is done."""
        return any(
            step in (row.name, row.capability_id) and row.outcome in _DONE
            for _, commit in self.commits
            for row in commit.rows
            if instance_id in (None, commit.instance_id)
        )

    def may_go_on(self) -> int:
        """Changes whenever something may be left to go on without the clock: a signal, an instance nobody parked."""
        is_any_left = any(map(self.is_under_way, self.states))
        return len(self.boundaries) if is_any_left else self._deliveries

    def next_wake(self, taken_up: Collection[UUID]) -> datetime | None:
        """The first instant that a parked instance waits for, but for those that somebody goes on with."""
        waits = [wait for each, waits in self.waits.items() if each not in taken_up for wait in waits]
        return min((wait.wake_at for wait in waits), default=None)

    def step_name(self, instance_id: UUID, step_id: int) -> str:
        """What an instance's plan calls a node; of a poll, what it asks."""
        plan = self.plan_of(self.flows[instance_id])
        names = [] if plan is None else [getattr(node, "name", "") for node in plan.nodes[step_id : step_id + 2]]
        return next(filter(None, names), f"node {step_id}")

    def is_under_way(self, instance_id: UUID) -> bool:
        """Whether an instance has neither parked nor ended."""
        state = self.states.get(instance_id)
        return state is not None and not (state.is_terminal or state is State.SUSPENDED)

    def is_open(self, instance_id: UUID) -> bool:
        """Whether an instance has not ended."""
        return not self.states[instance_id].is_terminal

    def _answered_before(self, call: Call) -> list[Call]:
        """Calls of the same host for the same instance that were answered, and of which no row is written."""
        return [
            earlier
            for earlier in self._not_durable
            if (earlier.host, earlier.instance_id, earlier.fence) == (call.host, call.instance_id, call.fence)
            and earlier.has_answered
            and earlier.compensates is None
        ]

    def _note_row(self, commit: Commit, row: StepRow) -> None:
        made = [call for call in self._not_durable if self._is_row_of(call, commit, row)]
        for call in made:  # several, where a hedge made more than one
            call.is_durable = True
            self._not_durable.remove(call)
        if made:
            if row.outcome in _DONE:
                self._done.add(made[-1].execution)
            return
        self._check_signal(commit.instance_id, row)

    @staticmethod
    def _is_row_of(call: Call, commit: Commit, row: StepRow) -> bool:
        # A fallback's row names the capability that it stands in for.
        is_its = row.outcome is RowOutcome.DEGRADED or call.capability_id == row.capability_id
        if not is_its or (call.name, call.attempt) != (row.name, row.attempt):
            return False
        # The undo of a child's step is kept with the parent, at a scope that ends with the step's own.
        is_undo = call.compensates is not None and row.scope.endswith(call.scope)
        own = (commit.instance_id, row.scope, commit.fencing_token)
        return is_undo or (call.instance_id, call.scope, call.fence) == own

    def _check_undo(self, undo: Call) -> None:
        """An undo is given what that very execution was given or gave, and nothing else."""
        executions = [
            call
            for call in self.calls
            if (call.instance_id, call.scope, call.name, call.capability_id)
            == (undo.instance_id, undo.scope, undo.name, undo.compensates)
            and call.is_durable
        ]
        if executions and not any(undo.request in (call.request, call.answer) for call in executions):
            done = executions[-1]
            self.wrong.append(f"{undo} undoes {done} with {undo.request!r}, and that execution gave {done.answer!r}")

    def _check_signal(self, instance_id: UUID, row: StepRow) -> None:
        plan = self.plan_of(self.flows.get(instance_id, ""))
        node = None if plan is None or row.step_id >= len(plan.nodes) else plan.nodes[row.step_id]
        if not (isinstance(node, AwaitSignal | Poll) and node.signal and row.capability_id == node.signal.id):
            return
        self._consumed[instance_id, row.capability_id] += 1
        delivered = list(self._delivered.get(instance_id, {}).values()).count(row.capability_id)
        if self._consumed[instance_id, row.capability_id] > delivered:
            self.wrong.append(f"signal {row.capability_id!r} was delivered {delivered} times and consumed once more")

    @staticmethod
    def _place(plan: Plan[Any, Any], call: Call) -> tuple[int, str]:
        index = next((node.index for node in plan.nodes if isinstance(node, Step) and node.name == call.name), -1)
        return index, call.scope
