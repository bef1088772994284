"""The node kinds of a plan and how each is laid out.

A plan is one array. Every target points strictly forward and is at most the array's length, which
is the whole termination argument: loops and polls re-enter a span a number of times that is fixed
before the first pass (the element count, the budget). A target equal to the length means the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias, assert_never

from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.policies import PolicySet
from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.plan.uses import CapabilityUse, EventUse, SignalUse

Lifted: TypeAlias = Callable[[Any], Any]
"""A predicate, selector, map or projection, lifted from the author's module: one context in, a value out."""


@dataclass(frozen=True, slots=True)
class Step:
    """Call one capability."""

    index: int
    name: str
    """For people, ids and upgrades: the author's label, or the capability id (`#2` for repeats)."""
    capability: CapabilityUse
    request: Lifted | None = None
    """The map that builds the request; `None` binds it by type from the bag."""
    compensation: CapabilityUse | None = None
    policy: PolicySet | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """Go on at the next node if the predicate holds, else at `otherwise`."""

    index: int
    predicate: Lifted
    otherwise: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go to `target`; closes an arm."""

    index: int
    target: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Go to the first case whose value equals the selector's, else to `default`."""

    index: int
    selector: Lifted
    cases: tuple[tuple[object, int], ...]
    """(value, target), targets ascending."""
    default: int
    """The default block, or the join where there is none."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Run branches side by side; branch k owns the nodes from `branches[k]` to the next branch or the join."""

    index: int
    branches: tuple[int, ...]
    join: int
    merge: Merge


@dataclass(frozen=True, slots=True)
class ForEach:
    """Run the nodes from the next one to `join` once per element of the selector's sequence."""

    index: int
    selector: Lifted
    item: type[Any]
    """The element's contract: the slot the body binds it from."""
    join: int
    max_concurrency: int = 1
    continue_on_error: bool = False


@dataclass(frozen=True, slots=True)
class SubFlow:
    """Run another flow as an instance of its own."""

    index: int
    name: str
    flow_id: str
    version: str
    request: Lifted
    mode: SubFlowMode = SubFlowMode.INLINE


@dataclass(frozen=True, slots=True)
class AwaitSignal:
    """Park until the signal or the timeout; the timeout block is the nodes from here to `signal_target`."""

    index: int
    name: str
    signal: SignalUse
    timeout: timedelta
    signal_target: int | None = None
    """Where a delivered signal goes on; `None` without a timeout block: the timeout then fails the flow."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Park on the clock."""

    index: int
    name: str
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Poll:
    """Repeat the next node (one `Step`) until the predicate holds; the timeout block starts at `index + 2`."""

    index: int
    until: Lifted
    interval: Backoff
    timeout: timedelta
    satisfied_target: int | None = None
    """Where a satisfied poll goes on; `None` without a timeout block: the timeout then fails the flow."""
    signal: SignalUse | None = None
    """The second ending."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Stage an event in the commit of this node's row."""

    index: int
    name: str
    event: EventUse
    payload: Lifted


@dataclass(frozen=True, slots=True)
class Fail:
    """End the flow with a business error."""

    index: int
    error: type[FlowError]


Node: TypeAlias = (
    Step | Branch | Jump | Switch | Parallel | ForEach | SubFlow | AwaitSignal | Delay | Poll | Emit | Fail
)


def targets(node: Node) -> Iterator[int]:
    """Every index the node may send control to besides the next one."""
    match node:
        case Branch():
            yield node.otherwise
        case Jump():
            yield node.target
        case Switch():
            yield from (target for _, target in node.cases)
            yield node.default
        case Parallel():
            yield from node.branches
            yield node.join
        case ForEach():
            yield node.join
        case AwaitSignal():
            if node.signal_target is not None:
                yield node.signal_target
        case Poll():
            if node.satisfied_target is not None:
                yield node.satisfied_target
        case Step() | SubFlow() | Delay() | Emit() | Fail():
            return
        case _:
            assert_never(node)


def suspends(node: Node) -> bool:
    """Whether the node can park its instance, and so needs a journal."""
    return isinstance(node, AwaitSignal | Delay | Poll)
