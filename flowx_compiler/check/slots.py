"""The data flow of a plan's bag: which contracts are there, always or sometimes, where something asks for them.

One slot per contract class, by exact class. The analysis goes through every block: arms join, a block that ends in
`fail` contributes nothing, a loop may run zero times, and the two endings of a wait leave different things behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

from flowx_compiler import model
from flowx_compiler.check.reads import reads
from flowx_compiler.findings import Place
from flowx_compiler.model import DataFunction, Flow, Program


class Cause(Enum):
    """Why a slot is only sometimes filled."""

    ARM = "an arm that may not run"
    SIGNAL_ENDING = "the signal ending of a poll"
    TIMEOUT = "the path on which the wait did not run out"
    LOOP = "a loop that may have no elements"
    MERGE = "a branch that the merge rule may leave behind"


@dataclass(frozen=True, slots=True)
class Sometimes:
    """A slot that is filled on some paths."""

    cause: Cause
    place: Place
    """The construct that makes the difference."""


@dataclass(frozen=True, slots=True)
class Always:
    """A slot that is filled on every path."""


ALWAYS = Always()
Presence: TypeAlias = Always | Sometimes
Bag: TypeAlias = Mapping[str, Presence]


@dataclass(frozen=True, slots=True)
class Use:
    """Something that takes a contract from the bag."""

    contract: str
    place: Place
    presence: Presence | None
    """`None`: nothing before it ever leaves one."""
    available: tuple[str, ...]
    """What is there instead, sorted."""
    taker: str
    """Who takes it, for the message: a capability id, or what the data function is for."""
    is_bound: bool
    """Bound by type as a step's request, not read by a function."""
    is_gathered: bool = False
    """Read as the results of a loop, `ctx.results(…)`."""


def uses(program: Program, flow: Flow) -> tuple[Use, ...]:
    """Every take of a sound flow, in order of the walk."""
    return program.once("uses", flow.name, lambda: _uses(program, flow))


def _uses(program: Program, flow: Flow) -> tuple[Use, ...]:
    walker = _Walker(program)
    bag = walker.block(flow.body, {flow.input.name: ALWAYS})
    if flow.returns is not None and bag is not None:
        walker.read(flow.returns, "the projection", bag)
    return tuple(walker.found)


def produces(program: Program, body: model.Sequence) -> Iterator[tuple[str, Place]]:
    """Every contract that a block leaves, with the argument that names the capability, or the construct."""
    for construct in body.constructs:
        match construct:
            case model.Step() | model.Poll():
                yield construct.capability.capability.result.name, construct.capability.place
            case model.AwaitSignal():
                yield construct.signal.contract, construct.place
            case model.SubFlow():
                output = output_of_child(program, construct)
                if output is not None:
                    yield output, construct.place
            case _:
                pass
        for block in model.blocks(construct):
            yield from produces(program, block)


def output_of_child(program: Program, call: model.SubFlow) -> str | None:
    """What a finished sub-flow leaves in its parent's bag, as a step does; a detached one leaves nothing."""
    child = program.flows.get(call.flow)
    if child is None or call.is_detached or child.output.name == "None":
        return None
    return child.output.name


def ends(body: model.Sequence) -> bool:
    """Whether a block never runs to its end: its last construct fails on every path."""
    if not body.constructs:
        return False
    match body.constructs[-1]:
        case model.Fail():
            return True
        case model.When(then=then, otherwise=otherwise):
            return otherwise is not None and ends(then) and ends(otherwise)
        case model.Switch(cases=cases, default=default):
            return default is not None and ends(default) and all(ends(case.block) for case in cases)
        case _:
            return False


@dataclass(slots=True)
class _Walker:
    program: Program
    found: list[Use] = field(default_factory=list)
    gathered: set[str] = field(default_factory=set)
    """What the bodies of the loops so far leave, element by element."""

    def block(self, body: model.Sequence, bag: Bag) -> Bag | None:
        """The bag after a block; `None` if the block never ends."""
        current: Bag | None = bag
        for construct in body.constructs:
            if current is None:
                return None
            current = self._construct(construct, current)
        return current

    def read(self, function: DataFunction, taker: str, bag: Bag) -> None:
        for read in reads(self.program, function):
            if read.method == "get":
                self._take(read.contract, read.place, taker, bag, is_bound=False)
            elif read.method == "results":
                presence = ALWAYS if read.contract in self.gathered else None
                available = tuple(sorted(self.gathered))
                use = Use(read.contract, read.place, presence, available, taker, is_bound=False, is_gathered=True)
                self.found.append(use)

    def _take(self, contract: str, place: Place, taker: str, bag: Bag, *, is_bound: bool) -> None:
        self.found.append(Use(contract, place, bag.get(contract), tuple(sorted(bag)), taker, is_bound))

    def _construct(self, construct: model.Construct, bag: Bag) -> Bag | None:
        match construct:
            case model.Step():
                return self._step(construct, bag)
            case model.When():
                self.read(construct.predicate, "the predicate", bag)
                then = self.block(construct.then, bag)
                otherwise = bag if construct.otherwise is None else self.block(construct.otherwise, bag)
                return _join([then, otherwise], Cause.ARM, construct.place)
            case model.Switch():
                self.read(construct.selector, "the selector", bag)
                arms = [self.block(case.block, bag) for case in construct.cases]
                arms.append(bag if construct.default is None else self.block(construct.default, bag))
                return _join(arms, Cause.ARM, construct.place)
            case model.Parallel():
                return self._parallel(construct, bag)
            case model.ForEach():
                return self._for_each(construct, bag)
            case model.SubFlow():
                self.read(construct.request, "the sub-flow's input", bag)
                output = output_of_child(self.program, construct)
                return bag if output is None else {**bag, output: ALWAYS}
            case model.AwaitSignal():
                delivered = {**bag, construct.signal.contract: ALWAYS}
                if construct.on_timeout is None:
                    return delivered
                late = self.block(construct.on_timeout, bag)
                return _join([delivered, late], Cause.TIMEOUT, construct.place)
            case model.Delay():
                return bag
            case model.Poll():
                return self._poll(construct, bag)
            case model.Emit():
                self.read(construct.payload, "the event", bag)
                return bag
            case model.Fail():
                return None
            case _:
                assert_never(construct)

    def _step(self, step: model.Step, bag: Bag) -> Bag:
        capability = step.capability.capability
        if step.request is not None:
            self.read(step.request, f"the request of {capability.id!r}", bag)
        else:
            self._take(capability.request.name, step.capability.place, f"{capability.id!r}", bag, is_bound=True)
        if capability.result.name == "None":
            return bag
        return {**bag, capability.result.name: ALWAYS}

    def _poll(self, poll: model.Poll, bag: Bag) -> Bag | None:
        capability = poll.capability.capability
        self._take(capability.request.name, poll.capability.place, f"{capability.id!r}", bag, is_bound=True)
        asked = {**bag, capability.result.name: ALWAYS}
        self.read(poll.until, "the predicate", asked)
        satisfied: Bag = asked
        if poll.signal is not None and poll.signal.contract not in asked:
            satisfied = {**asked, poll.signal.contract: Sometimes(Cause.SIGNAL_ENDING, poll.place)}
        if poll.on_timeout is None:
            return satisfied
        late = self.block(poll.on_timeout, asked)
        return _join([satisfied, late], Cause.TIMEOUT, poll.place)

    def _parallel(self, parallel: model.Parallel, bag: Bag) -> Bag | None:
        arms = [self.block(branch, bag) for branch in parallel.branches]
        is_all = parallel.merge.rule == "all_must_succeed"
        if is_all and any(arm is None for arm in arms):
            return None
        merged = dict(bag)
        for arm in arms:
            for contract, presence in (arm or {}).items():
                # What a branch left as it was says nothing new; what one of them is sure of, no other takes back.
                if presence != bag.get(contract) and merged.get(contract) != ALWAYS:
                    merged[contract] = presence if is_all else Sometimes(Cause.MERGE, parallel.place)
        return merged

    def _for_each(self, loop: model.ForEach, bag: Bag) -> Bag:
        self.read(loop.selector, "the selector", bag)
        after = self.block(loop.body, {**bag, loop.item.name: ALWAYS})
        self.gathered |= {contract for contract, _ in produces(self.program, loop.body)}
        products = (after or {}).keys() - bag.keys() - {loop.item.name}
        return {**bag, **{name: Sometimes(Cause.LOOP, loop.place) for name in products}}


def _join(arms: list[Bag | None], cause: Cause, place: Place) -> Bag | None:
    living = [arm for arm in arms if arm is not None]
    if not living:
        return None
    joined: dict[str, Presence] = {}
    for contract in dict.fromkeys(name for arm in living for name in arm):
        presences = [arm.get(contract) for arm in living]
        partial = next((presence for presence in presences if isinstance(presence, Sometimes)), None)
        if partial is not None:
            joined[contract] = partial
        elif all(presence is not None for presence in presences):
            joined[contract] = ALWAYS
        else:
            joined[contract] = Sometimes(cause, place)
    return joined
