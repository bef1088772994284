"""Flows of every shape, and how each ends when nobody kills anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.vocabulary import Profile, SubFlowMode
from flowx_runtime.journal.records import State
from flowx_runtime.plan import (
    FORMAT,
    AwaitSignal,
    Branch,
    CapabilityUse,
    Delay,
    Emit,
    Fail,
    FailureEmit,
    ForEach,
    Jump,
    Parallel,
    Plan,
    Poll,
    Step,
    SubFlow,
    Switch,
)
from tests.crash.capabilities import (
    APPROVED,
    CHARGE,
    DO,
    LATER,
    LOOK,
    REFUSE,
    SOON,
    TRY,
    UNDO,
    UNDO_LATER,
    UNDO_NEVER,
    WORK_DONE,
    WORK_FAILED,
    WRITE,
    Approved,
    Done,
    Item,
    NotInTime,
    Order,
    Seen,
    WorkDone,
    WorkFailed,
)

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
ELEMENTS: Final = tuple(Item(name=name) for name in "xyz")


@dataclass(frozen=True)
class Scenario:
    plans: tuple[Plan[Any, Any], ...]
    """The first is the one that is started."""
    ends: State = State.COMPLETED
    undone: str = ""
    """What is undone, in order."""
    signal: Any = None
    """Sent when an instance waits for it."""
    is_early: bool = False
    """Sent before that."""
    is_late: bool = False
    """Sent, by a process that takes over, to an instance that is going back already."""
    is_cancelled: bool = False
    """Cancelled when it first rests."""
    overlap: int = 1
    """Steps that may be under way at once."""
    is_race: bool = False
    """Which steps run depends on who is first."""
    needs_postgres: bool = False


def plan(*nodes: Any, flow_id: str = "crash", **changes: Any) -> Plan[Any, Any]:
    facts: dict[str, Any] = {
        "format": FORMAT,
        "flow_id": flow_id,
        "version": "1.0.0",
        "digest": "d1",
        "profile": Profile.DURABLE,
        "input": Order,
        "output": Done,
        "nodes": nodes,
        "returns": lambda ctx: ctx.find(Done) or Done(name="nothing"),
    }
    return Plan(**(facts | changes))


def step(index: int, name: str, use: CapabilityUse = DO, undo: CapabilityUse | None = UNDO, **more: Any) -> Step:
    """Does `name`."""
    return Step(index, name, use, lambda ctx: Item(name=name), undo, **more)


def each(index: int, name: str, use: CapabilityUse = DO, undo: CapabilityUse | None = UNDO) -> Step:
    """Does `name` to the element."""
    return Step(index, name, use, lambda ctx: Item(name=f"{name}-{ctx.get(Item).name}"), undo)


def plain(index: int, name: str, use: CapabilityUse = DO) -> Step:
    """Has no undo."""
    return step(index, name, use, None)


def refuse(index: int) -> Step:
    """Its undo never runs: it has done nothing."""
    return step(index, "refuse", REFUSE)


def emit(index: int) -> Emit:
    return Emit(index, "done", WORK_DONE, lambda ctx: WorkDone(name=ctx.get(Done).name))


TOLD = (FailureEmit("failed", WORK_FAILED, lambda ctx: WorkFailed(code=ctx.error.code)),)


def switch() -> Plan[Any, Any]:
    return plan(
        step(0, "a"),
        Switch(1, lambda ctx: ctx.get(Done).name, (("b", 2), ("a", 4)), 6),
        step(2, "not this"),
        Jump(3, 7),
        step(4, "this"),
        Jump(5, 7),
        step(6, "nor this"),
        Branch(7, lambda ctx: ctx.get(Done).name == "this", 9),
        step(8, "then"),
        emit(9),
    )


def fork(*tail: Any, merge: Any = Merge.ALL_MUST_SUCCEED) -> Plan[Any, Any]:
    branches = (step(1, "a1"), step(2, "a2"), step(3, "b1"), step(4, "c1"), step(5, "c2"))
    return plan(Parallel(0, (1, 3, 4), 6, merge), *branches, step(6, "after"), *tail)


def failing_fork() -> Plan[Any, Any]:
    """A branch that is cancelled by its sibling's failure must not go on after a death."""
    branches = (step(2, "a1"), step(3, "a2"), step(4, "a3"), step(5, "b1"), refuse(6))
    return plan(step(0, "first"), Parallel(1, (2, 5), 7, Merge.ALL_MUST_SUCCEED), *branches)


def waiting_fork(*tail: Any) -> Plan[Any, Any]:
    return plan(
        step(0, "first"),
        Parallel(1, (2, 4, 6), 8, Merge.ALL_MUST_SUCCEED),
        Delay(2, "short", MINUTE),
        step(3, "a"),
        Delay(4, "long", 3 * MINUTE),
        step(5, "b"),
        AwaitSignal(6, "approval", APPROVED, DAY),
        step(7, "c"),
        step(8, "last"),
        *tail,
    )


def loop(*tail: Any, concurrency: int = 1, use: CapabilityUse = DO, waits: bool = False) -> Plan[Any, Any]:
    undo = None if use is WRITE else UNDO
    body = (each(1, "p", use, undo), Delay(2, "rest", MINUTE) if waits else each(2, "q", use, undo))
    return plan(ForEach(0, lambda ctx: ELEMENTS, Item, 3, concurrency), *body, *tail)


def nested_loop(*tail: Any) -> Plan[Any, Any]:
    return plan(
        ForEach(0, lambda ctx: ELEMENTS[:2], Item, 4),
        each(1, "outer"),
        ForEach(2, lambda ctx: tuple(Item(name=f"{ctx.get(Item).name}{n}") for n in range(2)), Item, 4),
        each(3, "inner"),
        *tail,
    )


def family(
    *tail: Any, mode: SubFlowMode = SubFlowMode.INLINE, waits: timedelta | None = None, child_fails: bool = False
) -> tuple[Plan[Any, Any], ...]:
    node = SubFlow(1, "child", "child", "1.0.0", lambda ctx: Order(name=f"child of {ctx.get(Done).name}"), mode)
    inner: tuple[Any, ...] = (step(0, "x"), step(1, "w") if waits is None else Delay(1, "rest", waits), step(2, "y"))
    if child_fails:
        inner = (*inner, refuse(3))
    return plan(step(0, "a"), node, step(2, "b"), *tail), plan(*inner, flow_id="child")


def beside_a_child(*children: Plan[Any, Any]) -> tuple[Plan[Any, Any], ...]:
    """A branch that fails while a child of the other one waits."""
    node = SubFlow(2, "child", children[0].flow_id, "1.0.0", lambda ctx: Order(name="child"))
    fork = Parallel(1, (2, 4), 6, Merge.ALL_MUST_SUCCEED)
    rest = (step(3, "after"), Delay(4, "rest", MINUTE), Fail(5, NotInTime))
    return plan(step(0, "first"), fork, node, *rest), *children


def waiting_child() -> Plan[Any, Any]:
    return plan(step(0, "x"), Delay(1, "longer", DAY), step(2, "y"), flow_id="child")


def middle() -> Plan[Any, Any]:
    node = SubFlow(1, "child", "child", "1.0.0", lambda ctx: Order(name="child"))
    return plan(step(0, "m"), node, step(2, "n"), flow_id="middle")


def poll(until: int, *, budget: timedelta = DAY, has_block: bool = True, signal: Any = None) -> Plan[Any, Any]:
    target = 5 if has_block else None
    block = (plain(3, "escalate"), Fail(4, NotInTime)) if has_block else ()
    return plan(
        step(0, "a"),
        Poll(1, lambda ctx: ctx.get(Seen).times >= until, Backoff.exponential("PT1M"), budget, target, signal),
        plain(2, "look", LOOK),
        *block,
        step(3 + len(block), "b"),
        on_failure=TOLD,
    )


def wait(*, has_block: bool, delay: bool = False) -> Plan[Any, Any]:
    block = (step(2, "escalate"), Fail(3, NotInTime)) if has_block else ()
    at = 2 + len(block)
    tail = (Delay(at, "settling", DAY), step(at + 1, "b")) if delay else (step(at, "b"),)
    return plan(step(0, "a"), AwaitSignal(1, "approval", APPROVED, DAY, at if has_block else None), *block, *tail)


def rests_first() -> Plan[Any, Any]:
    return plan(step(0, "a"), Delay(1, "rest", DAY), AwaitSignal(2, "approval", APPROVED, DAY), step(3, "b"))


F: Final = State.FAILED
LINEAR: Final = (step(0, "a"), step(1, "b"), plain(2, "c"), step(3, "d"))
BY_ADA: Final = Approved(by="ada")

SCENARIOS: Final[dict[str, Scenario]] = {
    "a saga that completes": Scenario((plan(*LINEAR, emit(4)),)),
    "a saga that fails": Scenario((plan(*LINEAR, refuse(4), on_failure=TOLD),), F, "d b a"),
    "a switch": Scenario((switch(),)),
    "a fork": Scenario((fork(),), overlap=3),
    "a fork that is undone": Scenario((fork(refuse(7)),), F, "after c2 a2 c1 b1 a1", overlap=3),
    "a fork that fails": Scenario((failing_fork(),), F, overlap=3, is_race=True),
    "a fork for the first": Scenario((fork(merge=Merge.FIRST_SUCCESS),), overlap=3, is_race=True),
    "a fork that waits": Scenario((waiting_fork(),), signal=BY_ADA, overlap=3),
    "a fork that waits and is undone": Scenario((waiting_fork(refuse(9)),), F, "last b a c first", signal=BY_ADA),
    "a loop": Scenario((loop(step(3, "after")),)),
    "a loop that is undone": Scenario((loop(refuse(3)),), F, "q-z p-z q-y p-y q-x p-x"),
    "a loop that overlaps": Scenario((loop(concurrency=3),), overlap=3),
    "a loop that waits": Scenario((loop(step(3, "after"), concurrency=2, waits=True),), overlap=2),
    "a loop in a loop": Scenario((nested_loop(step(4, "after")),)),
    "a loop in a loop that is undone": Scenario(
        (nested_loop(refuse(4)),), F, "inner-y1 inner-y0 outer-y inner-x1 inner-x0 outer-x"
    ),
    "a loop of transactions": Scenario((loop(use=WRITE),), needs_postgres=True),
    "a loop of steps that run once": Scenario((loop(use=CHARGE),)),
    "a child": Scenario(family()),
    "a child that is undone": Scenario(family(refuse(3)), F, "b y w x a"),
    "a child that fails": Scenario(family(child_fails=True), F, "y w x a"),
    "a child that waits": Scenario(family(waits=MINUTE)),
    "a child that waits and is undone": Scenario(family(refuse(3), waits=MINUTE), F, "b y x a"),
    "a child that wakes together with its parent": Scenario(family(waits=DAY), overlap=2),
    "a child beside a branch that fails": Scenario(beside_a_child(waiting_child()), F, "x first", overlap=2),
    "a child of a child beside a branch that fails": Scenario(
        beside_a_child(middle(), waiting_child()), F, "x m first", overlap=2
    ),
    "a detached child": Scenario(family(mode=SubFlowMode.DETACHED, waits=MINUTE), overlap=2),
    "a poll ended by its predicate": Scenario((poll(3),)),
    "a poll ended by a signal": Scenario((poll(99, signal=APPROVED),), signal=BY_ADA),
    "a poll that times out": Scenario((poll(99, budget=4 * MINUTE),), F, "a"),
    "a poll that times out without a block": Scenario((poll(99, budget=4 * MINUTE, has_block=False),), F, "a"),
    "a wait ended by a signal": Scenario((wait(has_block=True, delay=True),), signal=BY_ADA),
    "a wait whose signal comes early": Scenario((rests_first(),), signal=BY_ADA, is_early=True),
    "a wait that times out": Scenario((wait(has_block=True),), F, "escalate a"),
    "a wait that times out without a block": Scenario((wait(has_block=False),), F, "a"),
    "a wait whose signal comes too late": Scenario((wait(has_block=False),), F, "a", signal=BY_ADA, is_late=True),
    "an undo that succeeds late": Scenario((plan(step(0, "a"), step(1, "b", undo=UNDO_LATER), refuse(2)),), F, "b b a"),
    "an undo that fails": Scenario(
        (plan(step(0, "a"), step(1, "b", undo=UNDO_NEVER), step(2, "c"), refuse(3)),),
        State.COMPENSATION_FAILED,
        "c b b b a",
    ),
    "a step that is not retried": Scenario((plan(step(0, "a"), plain(1, "try", TRY), step(2, "b")),), F, "a"),
    "a retry at once": Scenario((plan(step(0, "a"), step(1, "try", TRY, policy=SOON), step(2, "b")),)),
    "a retry that parks": Scenario((plan(step(0, "a"), step(1, "try", TRY, policy=LATER), step(2, "b")),)),
    "a deadline": Scenario((plan(step(0, "a"), Delay(1, "rest", DAY), deadline=MINUTE),), State.TIMED_OUT, "a"),
    "a cancel": Scenario(family(waits=MINUTE), State.CANCELLED, "a x", is_cancelled=True, overlap=2),
}

LIMIT: Final = 60 * DAY
"""Longer than any scenario takes."""

IN_TIME: Final = {
    f"{name}, in time": replace(each, plans=(replace(each.plans[0], deadline=LIMIT), *each.plans[1:]))
    for name, each in SCENARIOS.items()
}
"""The same, with a deadline that none of them comes to by itself."""
