"""Where contracts are used: which side a contract stands on, and who meets a change of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TypeAlias

from flowx_compiler.diff.callers import Callers
from flowx_compiler.diff.contracts import Contracts
from flowx_compiler.diff.differences import Change, Definition
from flowx_compiler.diff.document import TypeRef
from flowx_compiler.diff.shapes import Model


class Direction(Enum):
    """On which side of the application a value is made."""

    ACCEPTED = "accepted"
    """Others make it: a narrower contract refuses what they send."""
    PRODUCED = "produced"
    """Others read it: a wider contract gives them what they do not expect."""


class Place(Enum):
    """What holds a contract."""

    FLOW_INPUT = "flow input"
    FLOW_OUTPUT = "flow output"
    CAPABILITY_INPUT = "capability input"
    CAPABILITY_OUTPUT = "capability output"
    SIGNAL = "signal"
    EVENT = "event"

    @property
    def direction(self) -> Direction:
        """Who makes the value."""
        accepted = self in (Place.FLOW_INPUT, Place.CAPABILITY_INPUT, Place.SIGNAL)
        return Direction.ACCEPTED if accepted else Direction.PRODUCED


_WHO: Mapping[Place, Callable[[Callers, str], str]] = {
    Place.FLOW_INPUT: Callers.of_flow,
    Place.FLOW_OUTPUT: Callers.readers_of_flow,
    Place.CAPABILITY_INPUT: Callers.of_capability,
    Place.CAPABILITY_OUTPUT: Callers.readers_of_capability,
    Place.SIGNAL: Callers.of_signal,
    Place.EVENT: Callers.of_event,
}
_SUBJECT = {
    Place.FLOW_INPUT: "flow {key} input",
    Place.FLOW_OUTPUT: "flow {key} output",
    Place.CAPABILITY_INPUT: "capability {key} input",
    Place.CAPABILITY_OUTPUT: "capability {key} output",
    Place.SIGNAL: "signal {key}",
    Place.EVENT: "event {key}",
}


@dataclass(frozen=True, slots=True)
class Use:
    """One place that holds a contract in both documents, or in one of them."""

    place: Place
    key: str
    old: TypeRef | None
    new: TypeRef | None

    def who(self, callers: Callers) -> str:
        """Who meets a change of the contract here."""
        return _WHO[self.place](callers, self.key)

    @property
    def subject(self) -> str:
        """What a finding about this place is about."""
        return _SUBJECT[self.place].format(key=self.key)


@dataclass(frozen=True, slots=True)
class Met:
    """A pair of contracts with differences, and who meets them on one side."""

    old: str
    new: str
    definition: Definition
    users: tuple[str, ...]
    """The first few, in words."""
    further_users: int
    """How many there are beside them."""


@dataclass(frozen=True, slots=True)
class MovedMarks:
    """Members of the contract in one place that are, or are no longer, marked sensitive."""

    use: Use
    unmarked: tuple[str, ...]
    marked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Every use, told apart."""

    replaced: tuple[Use, ...]
    """Another contract of another shape stands there now; what differs inside is not told field by field."""
    marks: tuple[MovedMarks, ...]
    accepted: tuple[Met, ...]
    produced: tuple[Met, ...]
    renames: tuple[tuple[str, str], ...]
    uncompared: tuple[str, ...]
    """Contracts that are opaque on both sides."""

    def met(self, direction: Direction) -> tuple[Met, ...]:
        """The differing pairs of one side."""
        return self.accepted if direction is Direction.ACCEPTED else self.produced


_NAMED = 5
"""As many as a finding has room for."""

ContractPair: TypeAlias = tuple[str, str]


def find_usage(contracts: Contracts, uses: Iterable[Use], callers: Callers) -> Usage:
    """Compare every contract that both documents use in the same place, and what those refer to."""
    replaced: list[Use] = []
    holding: list[tuple[Use, ContractPair]] = []
    told: list[tuple[Use, ContractPair]] = []
    for use in uses:
        if use.old is None or use.new is None:
            if use.old is not use.new:
                replaced.append(use)
            continue
        pair = (use.old.type, use.new.type)
        holding.append((use, pair))
        if use.old.type == use.new.type:
            told.append((use, pair))
        elif contracts.are_equal(*pair):
            contracts.renames.add(pair)
        elif use.place in (Place.SIGNAL, Place.EVENT):
            # No code says "type replaced" of these, and a delivery knows fields, not names.
            told.append((use, pair))
        else:
            replaced.append(use)
    definitions = _reachable(contracts, [pair for _, pair in holding])
    met = {direction: tuple(_met(definitions, told, direction, callers)) for direction in Direction}
    return Usage(
        replaced=tuple(replaced),
        marks=tuple(_moved_marks(contracts, definitions, holding)),
        accepted=met[Direction.ACCEPTED],
        produced=met[Direction.PRODUCED],
        renames=tuple(sorted(contracts.renames)),
        uncompared=tuple(
            sorted(
                old
                for old in {old for (old, _), found in definitions.items() if found.is_uncompared}
                # What the runtime itself brings is no promise of the application, and no manifest describes it.
                if not old.startswith("flowx_runtime.")
            )
        ),
    )


def _reachable(contracts: Contracts, roots: Iterable[ContractPair]) -> dict[ContractPair, Definition]:
    found: dict[ContractPair, Definition] = {}
    waiting = list(roots)
    while waiting:
        pair = waiting.pop()
        if pair not in found:
            found[pair] = contracts.definition(*pair)
            waiting.extend(found[pair].leads_to)
    return found


def _met(
    definitions: Mapping[ContractPair, Definition],
    told: Iterable[tuple[Use, ContractPair]],
    direction: Direction,
    callers: Callers,
) -> Iterator[Met]:
    uses = sorted((use.who(callers), pair) for use, pair in told if use.place.direction is direction)
    numbers = {who: number for number, who in enumerate(dict.fromkeys(who for who, _ in uses))}
    reaching = _reaching(definitions, [(numbers[who], pair) for who, pair in uses])
    everyone = tuple(numbers)
    for pair in sorted(pair for pair, definition in definitions.items() if definition.differences):
        bits = reaching.get(pair, 0)
        if bits:
            named = tuple(everyone[number] for number in islice(_numbers(bits), _NAMED))
            yield Met(*pair, definitions[pair], named, bits.bit_count() - len(named))


def _moved_marks(
    contracts: Contracts, definitions: Mapping[ContractPair, Definition], holding: list[tuple[Use, ContractPair]]
) -> Iterator[MovedMarks]:
    has_moved = any(
        difference.change in (Change.MARKED, Change.UNMARKED)
        for definition in definitions.values()
        for difference in definition.differences
    )
    reaching = _reaching(definitions, [(number, pair) for number, (_, pair) in enumerate(holding)]) if has_moved else {}
    moved: dict[int, dict[Change, set[str]]] = {}
    for pair, definition in definitions.items():
        for difference in definition.differences:
            if difference.change in (Change.MARKED, Change.UNMARKED):
                for number in _numbers(reaching.get(pair, 0)):
                    is_root = holding[number][1] == pair
                    name = difference.path if is_root else f"{pair[1].rpartition('.')[2]}.{difference.path}"
                    moved.setdefault(number, {}).setdefault(difference.change, set()).add(name)
    for number, (use, _) in enumerate(holding):
        if use.old is None or use.new is None:
            continue
        found = moved.get(number, {})
        unmarked = found.get(Change.UNMARKED, set()) | _listed_only(contracts, use.old, use.new, is_new=True)
        marked = found.get(Change.MARKED, set()) | _listed_only(contracts, use.new, use.old, is_new=False)
        if unmarked or marked:
            yield MovedMarks(use, tuple(sorted(unmarked)), tuple(sorted(marked)))


def _listed_only(contracts: Contracts, here: TypeRef, there: TypeRef, *, is_new: bool) -> set[str]:
    """Names that one reference lists as sensitive, and that are in the other contract without a mark."""
    names = set(here.sensitive) - set(there.sensitive)
    if not names:
        return names
    models = [item for item in contracts.shape(there.type, is_new=is_new).alternatives if isinstance(item, Model)]
    if not models:
        return names  # nobody can say that the member is gone
    return {member.name for model in models for member in model.fields if not member.is_sensitive} & names


def _reaching(
    definitions: Mapping[ContractPair, Definition], roots: list[tuple[int, ContractPair]]
) -> dict[ContractPair, int]:
    """For each pair, which numbers lead to it, as a set of bits: contracts are shared by hundreds of flows."""
    reaching: dict[ContractPair, int] = {}
    for number, root in roots:
        reaching[root] = reaching.get(root, 0) | 1 << number
    order = _callers_first(definitions, reaching)
    # Without recursive contracts one pass is enough, and a second one sees that nothing moved.
    moved = any(definition.differences for definition in definitions.values())
    while moved:
        moved = False
        for pair in order:
            for target in definitions[pair].leads_to:
                before = reaching.get(target, 0)
                after = before | reaching[pair]
                if after != before:
                    reaching[target] = after
                    moved = True
    return reaching


def _callers_first(definitions: Mapping[ContractPair, Definition], roots: Iterable[ContractPair]) -> list[ContractPair]:
    """Every pair that the roots lead to, each before what it refers to where no circle forbids it."""
    finished: dict[ContractPair, None] = {}
    entered: set[ContractPair] = set()
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            pair, is_left = waiting.pop()
            if is_left:
                finished[pair] = None
            elif pair not in entered:
                entered.add(pair)
                waiting.append((pair, True))
                waiting.extend((target, False) for target in definitions[pair].leads_to)
    return list(reversed(finished))


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
