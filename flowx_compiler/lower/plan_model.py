"""A plan as data, before it is text. It mirrors `flowx_runtime.plan`, with code as source fragments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, assert_never

from flowx_compiler.lower.meaning import Meaning
from flowx_compiler.model import (
    Capability,
    Contract,
    CronTrigger,
    Event,
    HttpTrigger,
    MergeRule,
    Policy,
    Signal,
    TypeExpr,
)


@dataclass(frozen=True, slots=True)
class Import:
    """One name a plan module imports."""

    module: str
    name: str | None
    """`None` imports the module itself."""
    alias: str | None


@dataclass(frozen=True, slots=True)
class Lifted:
    """A function of the plan module."""

    name: str
    """As the plan module knows it: a generated name, or the imported one."""
    canonical: str
    """What it means, whatever its layout and its local names: for the digest."""
    definition: Definition | None = None
    """`None` for a function that is imported."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The text of a lifted function."""

    decorators: tuple[str, ...]
    """Expressions, as the plan module spells them."""
    parameter: str
    """Its one parameter with its annotation."""
    result: str
    expression: str | None
    """What a lambda returns, in the author's own layout."""
    body: str | None
    """The statements of a function, indented once."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression of the author's, as the plan module spells it."""

    text: str
    """In the author's own layout."""
    canonical: str
    """What it folds to, or its qualified spelling: for the digest."""


@dataclass(frozen=True, slots=True)
class Step:
    """See `flowx_runtime.plan.Step`."""

    index: int
    name: str
    capability: Capability
    request: Lifted | None
    compensation: Capability | None
    policy: Fragment | None
    policy_facts: Policy | None
    fallback: str | None
    """What the policy's fallback means, where the rest of it is told by facts."""


@dataclass(frozen=True, slots=True)
class Branch:
    """See `flowx_runtime.plan.Branch`."""

    index: int
    predicate: Lifted
    otherwise: int


@dataclass(frozen=True, slots=True)
class Jump:
    """See `flowx_runtime.plan.Jump`."""

    index: int
    target: int


@dataclass(frozen=True, slots=True)
class Switch:
    """See `flowx_runtime.plan.Switch`."""

    index: int
    selector: Lifted
    cases: tuple[tuple[Fragment, int], ...]
    default: int


@dataclass(frozen=True, slots=True)
class Parallel:
    """See `flowx_runtime.plan.Parallel`."""

    index: int
    branches: tuple[int, ...]
    join: int
    merge: MergeRule


@dataclass(frozen=True, slots=True)
class ForEach:
    """See `flowx_runtime.plan.ForEach`."""

    index: int
    selector: Lifted
    item: TypeExpr
    item_text: str
    join: int
    max_concurrency: int
    continue_on_error: bool


@dataclass(frozen=True, slots=True)
class SubFlow:
    """See `flowx_runtime.plan.SubFlow`."""

    index: int
    name: str
    flow_id: str
    version: str
    request: Lifted
    is_detached: bool


@dataclass(frozen=True, slots=True)
class AwaitSignal:
    """See `flowx_runtime.plan.AwaitSignal`."""

    index: int
    name: str
    signal: Signal
    timeout: Fragment
    folded_timeout: timedelta | None
    signal_target: int | None


@dataclass(frozen=True, slots=True)
class Delay:
    """See `flowx_runtime.plan.Delay`."""

    index: int
    name: str
    duration: Fragment
    folded_duration: timedelta | None


@dataclass(frozen=True, slots=True)
class Poll:
    """See `flowx_runtime.plan.Poll`."""

    index: int
    until: Lifted
    interval: Fragment
    timeout: Fragment
    folded_timeout: timedelta | None
    satisfied_target: int | None
    signal: Signal | None


@dataclass(frozen=True, slots=True)
class Emit:
    """See `flowx_runtime.plan.Emit`."""

    index: int
    name: str
    event: Event
    payload: Lifted


@dataclass(frozen=True, slots=True)
class Fail:
    """See `flowx_runtime.plan.Fail`."""

    index: int
    error: str
    """Qualified name."""
    error_text: str
    code: str


Node: TypeAlias = (
    Step | Branch | Jump | Switch | Parallel | ForEach | SubFlow | AwaitSignal | Delay | Poll | Emit | Fail
)


def targets(node: Node) -> Iterator[int]:
    """Every index a node may send control to besides the next one."""
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


@dataclass(frozen=True, slots=True)
class FailureEmit:
    """See `flowx_runtime.plan.FailureEmit`."""

    name: str
    event: Event
    payload: Lifted


@dataclass(frozen=True, slots=True)
class PlanModel:
    """Everything the plan module of one flow says."""

    flow: str
    """Qualified name of the flow's class."""
    module: str
    flow_id: str
    version: str
    is_durable: bool
    owner: str | None
    deadline: timedelta | None
    input: TypeExpr
    output: TypeExpr
    nodes: tuple[Node, ...]
    returns: Lifted | None
    on_failure: tuple[FailureEmit, ...]
    schedules: tuple[CronTrigger, ...]
    routes: tuple[HttpTrigger, ...]
    capabilities: tuple[Capability, ...]
    """Every capability the plan calls, in order of first use."""
    with_steps: frozenset[str]
    """Those of them, by qualified name, that have steps of their own."""
    contracts: tuple[Contract, ...]
    """Every contract it reads or writes, by qualified name."""
    functions: tuple[Lifted, ...]
    """The functions to define, in plan order."""
    imports: tuple[Import, ...]
    spelling: dict[str, str]
    """How the module spells each qualified name it imports."""
    decides: Mapping[str, Meaning]
    """Everything of the project that its code can reach, by qualified name."""
    reads: tuple[tuple[str, str], ...]
    """What it keeps reading of the project when it is retired: qualified name and fingerprint."""
    digest: str
