"""Where contracts are used: which side a contract stands on, and who meets a change of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from flowx_compiler.diff.differences import Contracts, Definition
from flowx_compiler.diff.document import TypeRef


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


_WHO = {
    Place.FLOW_INPUT: "callers of flow {key}",
    Place.FLOW_OUTPUT: "readers of the result of flow {key}",
    Place.CAPABILITY_INPUT: "flows that call capability {key}",
    Place.CAPABILITY_OUTPUT: "flows that read the result of capability {key}",
    Place.SIGNAL: "senders of signal {key}",
    Place.EVENT: "subscribers of event {key}",
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

    @property
    def who(self) -> str:
        """Who meets a change of the contract here."""
        return _WHO[self.place].format(key=self.key)

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


@dataclass(frozen=True, slots=True)
class Usage:
    """Every use, told apart."""

    replaced: tuple[Use, ...]
    """Another contract of another shape stands there now; what differs inside is not told field by field."""
    sensitive: tuple[Use, ...]
    """Those that hold a contract on both sides."""
    accepted: tuple[Met, ...]
    produced: tuple[Met, ...]
    renames: tuple[tuple[str, str], ...]
    uncompared: tuple[str, ...]
    """Contracts that are opaque on both sides."""

    def met(self, direction: Direction) -> tuple[Met, ...]:
        """The differing pairs of one side."""
        return self.accepted if direction is Direction.ACCEPTED else self.produced


def find_usage(contracts: Contracts, uses: Iterable[Use]) -> Usage:
    """Compare every contract that both documents use in the same place, and what those refer to."""
    listed = tuple(uses)
    replaced: list[Use] = []
    roots: list[tuple[Use, tuple[str, str]]] = []
    for use in listed:
        if use.old is None and use.new is None:
            continue
        if use.old is None or use.new is None:
            replaced.append(use)
            continue
        pair = (use.old.type, use.new.type)
        if use.old.type == use.new.type:
            roots.append((use, pair))
        elif contracts.are_equal(*pair):
            contracts.renames.add(pair)
        elif use.place in (Place.SIGNAL, Place.EVENT):
            # No code says "type replaced" of these, and a delivery knows fields, not names.
            roots.append((use, pair))
        else:
            replaced.append(use)
    definitions = _reachable(contracts, [pair for _, pair in roots])
    met = {direction: tuple(_met(definitions, roots, direction)) for direction in Direction}
    return Usage(
        replaced=tuple(replaced),
        sensitive=tuple(use for use in listed if use.old is not None and use.new is not None),
        accepted=met[Direction.ACCEPTED],
        produced=met[Direction.PRODUCED],
        renames=tuple(sorted(contracts.renames)),
        uncompared=tuple(sorted({old for (old, _), found in definitions.items() if found.is_uncompared})),
    )


def _reachable(contracts: Contracts, roots: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Definition]:
    found: dict[tuple[str, str], Definition] = {}
    waiting = list(roots)
    while waiting:
        pair = waiting.pop()
        if pair not in found:
            found[pair] = contracts.definition(*pair)
            waiting.extend(found[pair].leads_to)
    return found


def _met(
    definitions: dict[tuple[str, str], Definition],
    roots: list[tuple[Use, tuple[str, str]]],
    direction: Direction,
) -> Iterator[Met]:
    users: dict[tuple[str, str], list[str]] = {}
    for use, pair in roots:
        if use.place.direction is direction:
            users.setdefault(pair, []).append(use.who)
    referrers: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for pair, definition in definitions.items():
        for target in definition.leads_to:
            referrers.setdefault(target, []).append(pair)
    for pair in sorted(pair for pair, definition in definitions.items() if definition.differences):
        who: set[str] = set()
        for above in _all_above(pair, referrers):
            who.update(users.get(above, ()))
        if who:
            yield Met(*pair, definitions[pair], tuple(sorted(who)))


def _all_above(pair: tuple[str, str], referrers: dict[tuple[str, str], list[tuple[str, str]]]) -> set[tuple[str, str]]:
    found = {pair}
    waiting = [pair]
    while waiting:
        for above in referrers.get(waiting.pop(), ()):
            if above not in found:
                found.add(above)
                waiting.append(above)
    return found
