"""Walks a history again without any effect, and says whether today's plan and code take the same path.

What the history has is passed as a resume passes it; every map, predicate and projection is asked anew and its answer
is held against what was recorded. Where the history has nothing, the walk rests: nothing is called, sent or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.engine import failures
from flowx_runtime.engine.bag import Bag
from flowx_runtime.engine.beside_the_path import is_forgone, waits_that_are_over
from flowx_runtime.engine.clock import pause_for_real
from flowx_runtime.engine.composition import JOINED
from flowx_runtime.engine.documents import Documents, shown
from flowx_runtime.engine.failures import FlowFailure
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.identity import child_id, event_id
from flowx_runtime.engine.redaction import VALUE_REDACTED, ValueRedacted
from flowx_runtime.engine.session import Key, Session
from flowx_runtime.engine.step_rows import request_of
from flowx_runtime.engine.steps import is_retried
from flowx_runtime.engine.undo import Undo, is_undo_of_child
from flowx_runtime.engine.walker import Walker
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import REOPENED, Delivery, History, RowOutcome, StagedEvent, State, StepRow, Wait
from flowx_runtime.plan.nodes import AwaitSignal, Delay, Emit, Node, Poll, Step, SubFlow
from flowx_runtime.plan.plan import Plan

if TYPE_CHECKING:
    from flowx_runtime.engine.guards import Guards
    from flowx_runtime.engine.sub_flow import Children

K = TypeVar("K")
V = TypeVar("V")

_WITHOUT_A_ROW = frozenset(
    {failures.POLL_NOT_SATISFIED, failures.SIGNAL_NOT_RECEIVED, failures.DEADLINE_EXCEEDED, failures.CANCELLED}
)
"""What ends a flow while it waits, by the clock or from outside: the instance says so, no row does."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where today's plan leaves the recorded path."""

    scope: str
    step_id: int
    recorded: str
    today: str

    def __str__(self) -> str:
        place = f"node {self.step_id}" + (f" in scope {self.scope!r}" if self.scope else "")
        return f"{place}: the history has {self.recorded}; today's plan has {self.today}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found."""

    instance_id: UUID
    rows: int
    """How many recorded rows there are."""
    path: tuple[str, ...]
    """The rows that were passed, with the requests that today's maps make: the same on every replay."""
    difference: Difference | None = None
    """The first row that differs; `None` where today's plan takes the same path."""

    @property
    def is_same(self) -> bool:
        """Whether today's plan takes the recorded path."""
        return self.difference is None


class _Differs(Exception):  # it carries a finding; nobody outside this module meets it
    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


class _Asked(dict[K, V]):
    """Notes which keys that are there were asked for."""

    def __init__(self, known: Mapping[K, V]) -> None:
        super().__init__(known)
        self.keys_asked: set[K] = set()

    def get(self, key: K, default: Any = None) -> Any:
        if super().__contains__(key):
            self.keys_asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        is_there = super().__contains__(key)
        if is_there:
            self.keys_asked.add(cast("K", key))
        return is_there


@dataclass(slots=True)
class _Standing:
    """A clock that stands at the last instant the walk has passed: no wait falls due in a replay."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant


@dataclass(slots=True)
class _Recorded:
    """What was recorded next to the rows."""

    events: Mapping[UUID, StagedEvent]
    children: Mapping[UUID, str]
    """Their inputs."""
    path: list[str] = field(default_factory=list)


class _ReplaySession(Session):
    """Everything of a history, to look at."""

    def take(self, signal_id: str) -> Delivery | None:
        return None

    async def flush(self) -> None:
        return None

    async def go_beyond(self, wait: Key, to: Wait) -> None:
        return None


class _ReplayChildren:
    """Passes the sub-flows that were run."""

    def __init__(self, plan_for: Callable[[str, str], Plan[Any, Any]]) -> None:
        self._plan_for = plan_for

    async def sub_flow(self, walker: _ReplayWalker, frame: Frame, node: SubFlow) -> Moved:
        key = (frame.scope, node.index)
        row, failed = walker.session.done.get(key), walker.session.failed.get(key)
        plan = self._plan_for(node.flow_id, node.version)
        if row is None and failed is None:
            return walker.rest(frame.scope, node)
        walker.compare_child(frame, node, plan)
        if row is None:
            assert failed is not None
            assert failed.error is not None
            raise FlowFailure(failed.error)
        walker.pass_row(frame, row, plan.output if node.mode is SubFlowMode.INLINE else None)
        return node.index + 1


class _ReplayWalker(Walker):
    """Walks by what was recorded alone."""

    def __init__(self, session: Session, recorded: _Recorded, children: _ReplayChildren) -> None:
        self._standing = _Standing(session.started)
        super().__init__(
            session,
            clock=self._standing,
            guards=cast("Guards", None),  # nothing is called
            random=Random(0),
            pause=pause_for_real,
            children=cast("Children", children),
        )
        self._recorded = recorded

    def rest(self, scope: str, node: Node) -> Waits:
        """The end of what was recorded on this way."""
        return (Wait(scope, node.index, self._standing.instant),)

    async def perform(self, frame: Frame, node: Step, scope: str) -> Waits:
        known = self.session.failed.get((scope, node.index))
        if known is None or known.error is None:
            return self.rest(scope, node)
        self._compare_step(frame, node, known)
        retry = None if node.policy is None else node.policy.retry
        if is_retried(retry, known.attempt, known.error):
            return self.rest(scope, node)
        raise FlowFailure(known.error)

    def pass_row(self, frame: Frame, row: StepRow, contract: type[Any] | None) -> None:
        node = self.session.plan.nodes[row.step_id]
        match node:
            case Step():
                self._compare_step(frame, node, row)
            case Emit():
                self._compare_event(frame, node, row)
            case _:
                self._recorded.path.append(_line(row, ""))
        try:
            super().pass_row(frame, row, contract)
        except ValueError as error:
            unreadable = f"a contract that does not take it ({type(error).__name__})"
            raise _Differs(Difference(row.scope, row.step_id, f"a result of {row.name!r}", unreadable)) from error
        self._standing.instant = max(self._standing.instant, frame.bag.utc_now)

    def note(self, line: str) -> None:
        """Add a line to the path."""
        self._recorded.path.append(line)

    def record(self, frame: Frame, node: Node, capability_id: str, **_: Any) -> None:
        """What a run would write here is not in the history: the next step rests."""

    def compare_child(self, frame: Frame, node: SubFlow, plan: Plan[Any, Any]) -> None:
        """Hold the request of a sub-flow against the input that its instance has."""
        recorded = self._recorded.children.get(child_id(self.session.instance_id, frame.scope, node.index))
        request = self._today(lambda: self.ask(node.request, frame.bag, failures.MAP_FAILED), frame, node)
        if recorded is not None and request is not None:
            self._compare(frame.scope, node, "request", shown(recorded), Documents.published(plan.input, request))

    def _compare_step(self, frame: Frame, node: Step, row: StepRow) -> None:
        if row.capability_id != node.capability.id or row.name != node.name:
            recorded, today = f"{row.name!r} ({row.capability_id})", f"{node.name!r} ({node.capability.id})"
            raise _Differs(Difference(row.scope, row.step_id, recorded, today))
        request = self._today(lambda: request_of(self, frame, node), frame, node)
        said = "" if request is None else Documents.published(node.capability.request, request)
        if row.request is not None and request is not None:
            self._compare(row.scope, node, "request", shown(row.request), said)
        self._recorded.path.append(_line(row, said))

    def _compare_event(self, frame: Frame, node: Emit, row: StepRow) -> None:
        today = self._today(lambda: self.event(frame, node), frame, node)
        recorded = self._recorded.events.get(event_id(self.session.instance_id, frame.scope, node.name))
        if today is not None and recorded is not None:
            self._compare(
                row.scope, node, "event", f"{recorded.type} {recorded.payload}", f"{today.type} {today.payload}"
            )
        self._recorded.path.append(_line(row, "" if today is None else today.payload))

    def _today(self, ask: Callable[[], Any], frame: Frame, node: Node) -> Any:
        """What today's code gives; `None` where it needs a value that was not kept."""
        try:
            return ask()
        except ValueRedacted:
            return None
        except FlowFailure as failed:
            if failed.error.code == VALUE_REDACTED:
                return None
            said = f"{failed.error.code}: {failed.error.detail}"
            raise _Differs(Difference(frame.scope, node.index, "a step that was made", said)) from failed

    @staticmethod
    def _compare(scope: str, node: Node, what: str, recorded: str, today: str) -> None:
        if recorded != today:
            raise _Differs(Difference(scope, node.index, f"the {what} {recorded}", today))


async def replay(
    plan: Plan[Any, Any],
    history: History,
    *,
    journal: Journal,
    documents: Documents,
    plan_for: Callable[[str, str], Plan[Any, Any]],
) -> Replayed:
    """Walk a history with a plan; only reads the journal.

    Raises:
        FlowxError: the input cannot be opened.
    """
    instance = history.instance
    recorded = _Recorded({event.event_id: event for event in await journal.events(instance.instance_id)}, {})
    recorded.children = await _inputs_of_children(plan, history, journal)
    difference = await _first_difference(plan, history, recorded, journal, documents, plan_for)
    return Replayed(instance.instance_id, len(history.rows), tuple(recorded.path), difference)


async def _first_difference(
    plan: Plan[Any, Any],
    history: History,
    recorded: _Recorded,
    journal: Journal,
    documents: Documents,
    plan_for: Callable[[str, str], Plan[Any, Any]],
) -> Difference | None:
    beyond = next((row for row in history.rows if row.step_id >= len(plan.nodes)), None)
    if beyond is not None:
        return Difference(beyond.scope, beyond.step_id, _named(beyond), f"only {len(plan.nodes)} nodes")
    try:
        value = documents.restored(plan.input, history.instance.input, history.instance.instance_id)
    except ValueError as error:
        return Difference("", 0, "an input", f"an input contract that does not take it ({type(error).__name__})")
    session = _ReplaySession.of(plan, history, input=value, journal=journal, fence=0, documents=documents)
    session.deadline = session.cancel_reason = None
    done, failed = _Asked(session.done), _Asked(session.failed)
    session.done, session.failed = done, failed
    walker = _ReplayWalker(session, recorded, _ReplayChildren(plan_for))
    frame = Frame("", Bag(value, session.started))
    try:
        ending: Waits | FlowFailure = await walker.walk(frame, 0, len(plan.nodes))
    except FlowFailure as failure:
        ending = failure
    except _Differs as differs:
        return differs.difference
    passed = done.keys_asked | failed.keys_asked
    joined = [row for row in history.rows if row.capability_id == JOINED]
    for row in history.rows:
        goes_back = (
            row.outcome is RowOutcome.COMPENSATED or is_undo_of_child(row.scope) or row.capability_id == REOPENED
        )
        if not goes_back and (row.scope, row.step_id) not in passed and not is_forgone(plan, row, joined):
            return Difference(row.scope, row.step_id, _named(row), _where(ending))
    return _of_undo(session, history) or _of_ending(walker, frame, history, ending)


def _of_undo(session: Session, history: History) -> Difference | None:
    """Whether what was undone is what today's plan undoes, in its order."""
    expected = iter([undo for undo in reversed(session.undo_stack) if isinstance(undo, Undo)])
    for row in history.rows:
        if row.outcome is not RowOutcome.COMPENSATED or is_undo_of_child(row.scope):
            continue
        key = (row.scope, row.step_id, row.capability_id)
        if not any((undo.scope, undo.step_id, undo.use.id) == key for undo in expected):
            return Difference(row.scope, row.step_id, f"the undo {row.capability_id}", "another undo or another order")
    return None


def _of_ending(walker: _ReplayWalker, frame: Frame, history: History, ending: Waits | FlowFailure) -> Difference | None:
    instance = history.instance
    says = f"the state {instance.state.value}" + (f" with {instance.error.code}" if instance.error else "")
    last = len(walker.session.plan.nodes)
    if isinstance(ending, FlowFailure):
        if instance.error is not None and instance.error.code in (failures.DEADLINE_EXCEEDED, failures.CANCELLED):
            return None  # whatever it had come to by then
        if instance.error is None or instance.error.code != ending.error.code:
            return Difference("", last, says, f"the failure {ending.error.code}")
        return None
    if ending:
        return _of_rest(walker, instance.state, says, ending, history)
    if instance.error is not None:
        return _of_projection(walker, frame, says) if instance.state is not State.COMPLETED else None
    if instance.state is State.SUSPENDED:
        is_going_on = waits_that_are_over(walker.session.plan, instance.waits, walker.session.done)
        return None if is_going_on else Difference("", last, says, "nothing more to do")
    returns, contract = walker.session.plan.returns, walker.session.plan.output
    if returns is None or contract is None or instance.output is None:
        return None
    try:
        output = Documents.published(contract, walker.ask(returns, frame.bag, failures.PROJECTION_FAILED))
    except FlowFailure as failed:
        if failed.error.code == VALUE_REDACTED:
            return None
        return Difference("", last, says, f"{failed.error.code}: {failed.error.detail}")
    if output != shown(instance.output):
        return Difference("", last, f"the output {shown(instance.output)}", output)
    walker.note(output)
    return None


def _of_rest(walker: _ReplayWalker, state: State, says: str, ending: Waits, history: History) -> Difference | None:
    """The history ends where the walk rests: is it open there, and waits for the same?"""
    instance = history.instance
    first = ending[0]
    node = walker.session.plan.nodes[first.step_id]
    if state is State.SUSPENDED and instance.error is not None:
        return None  # it is going back, and waits for a child to end first
    if state is State.SUSPENDED:
        recorded, today = ({(wait.scope, wait.step_id) for wait in waits} for waits in (instance.waits, ending))
        over = waits_that_are_over(walker.session.plan, instance.waits, walker.session.done)
        # While it goes on from one of several waits, what it comes to is not recorded yet.
        other = sorted(recorded - over - today) or (sorted(today - recorded) if not over else [])
        if other:
            return Difference(*other[0], f"waits at {sorted(recorded)}", f"waits at {sorted(today)}")
        return None
    if state is State.COMPLETED or (
        instance.error is not None and not (instance.error.code in _WITHOUT_A_ROW or _is_from_outside(node, history))
    ):
        return Difference(first.scope, first.step_id, says, f"{getattr(node, 'name', type(node).__name__)!r} to do")
    return None


def _is_from_outside(node: Node, history: History) -> bool:
    """A predicate, map or decision of the engine failed at this node: no row says so."""
    return not isinstance(node, AwaitSignal | Delay | Poll) and not any(row.error for row in history.rows)


def _of_projection(walker: _ReplayWalker, frame: Frame, says: str) -> Difference | None:
    returns = walker.session.plan.returns
    try:
        if returns is not None:
            walker.ask(returns, frame.bag, failures.PROJECTION_FAILED)
    except FlowFailure:
        return None
    return Difference("", len(walker.session.plan.nodes), says, "an end without an error")


async def _inputs_of_children(plan: Plan[Any, Any], history: History, journal: Journal) -> dict[UUID, str]:
    inputs: dict[UUID, str] = {}
    for row in history.rows:
        if row.step_id < len(plan.nodes) and isinstance(plan.nodes[row.step_id], SubFlow):
            child = child_id(history.instance.instance_id, row.scope, row.step_id)
            read = await journal.read(child)
            if read is not None:
                inputs[child] = read.instance.input
    return inputs


def _line(row: StepRow, request: str) -> str:
    result = "" if row.result is None else shown(row.result)
    return f"{row.scope}|{row.step_id}|{row.capability_id}|{row.outcome.value}|{request}|{result}"


def _named(row: StepRow) -> str:
    return f"the row {row.name or row.capability_id!r} ({row.outcome.value})"


def _where(ending: Sequence[Wait] | FlowFailure) -> str:
    if isinstance(ending, FlowFailure):
        return f"a path that fails with {ending.error.code} and does not come here"
    if ending:
        return f"a path that rests at node {ending[0].step_id} and does not come here"
    return "a path that ends without coming here"
