"""What is left when a scenario has ended, and how it may differ where a process was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from flowx_runtime.engine.identity import child_id
from tests.crash.scenarios import Scenario
from tests.crash.world import Effect


class Instance(NamedTuple):
    instance: str
    flow: str
    state: str
    output: str | None
    error: str | None


class Row(NamedTuple):
    instance: str
    scope: str
    step: int
    attempt: int
    name: str
    capability: str
    outcome: str
    request: str | None
    result: str | None
    error: str | None
    utc_now: str | None


@dataclass(frozen=True)
class Ending:
    instances: tuple[Instance, ...]
    rows: tuple[Row, ...]
    """By instance, in commit order."""
    events: tuple[str, ...]
    untaken: int
    """Deliveries in an inbox that nobody took."""
    leases: int
    waits: int
    written: tuple[str, ...] = ()
    """What the steps' own transactions left."""
    once: tuple[str, ...] = ()
    """What is recorded of effects that run once."""


@dataclass(frozen=True)
class Run:
    ending: Ending
    effects: Sequence[Effect]


def in_flight(effects: Sequence[Effect], rows: Sequence[Row], once: Collection[str]) -> set[Effect]:
    """The effects whose rows are not there, nor a record of their own that says what was done once."""
    kept = {_place(row) for row in rows}
    return {effect for effect in effects if effect[:5] not in kept and effect.what not in once}


def _place(row: Row) -> tuple[str, str, str, str, int]:
    """What the effect of the row began with. The undo of a child's step is kept with the parent."""
    instance, parts = UUID(row.instance), row.scope.split("/")
    while (at := next((at for at, part in enumerate(parts) if part.startswith("child:")), None)) is not None:
        instance = child_id(instance, "/".join(parts[:at]), int(parts[at].removeprefix("child:")))
        parts = parts[at + 1 :]
    return str(instance), "/".join(parts), row.name, row.capability, row.attempt


def complaints(scenario: Scenario, undisturbed: Run, disturbed: Run, unwritten: Sequence[set[Effect]]) -> Iterator[str]:
    """What deaths changed that they must not change; `unwritten` is what was in flight at each of them."""
    yield from about_ending(scenario, disturbed)
    mine, other = disturbed.ending, undisturbed.ending
    for effects in unwritten:
        if len(effects) > scenario.overlap:
            yield f"{len(effects)} effects were in flight: {sorted(effects)}"
    for effect, times in Counter(disturbed.effects).items():
        if times - 1 > sum(effect in effects for effects in unwritten):
            yield f"{effect} was there {times} times, though its row was written"
    yield from about_turning_back(disturbed.effects)
    if mine.instances != other.instances:
        yield f"instances {mine.instances}, not {other.instances}"
    if replace(mine, instances=(), rows=()) != replace(other, instances=(), rows=()):
        yield f"{replace(mine, rows=())}, not {replace(other, rows=())}"
    if scenario.is_race:
        return
    if set(disturbed.effects) != set(undisturbed.effects):
        yield f"effects differ: {set(disturbed.effects) ^ set(undisturbed.effects)}"
    is_ordered = scenario.overlap == 1
    if is_ordered and list(dict.fromkeys(disturbed.effects)) != list(undisturbed.effects):
        yield f"effects came in another order: {[effect.what for effect in disturbed.effects]}"
    if (mine.rows if is_ordered else sorted_rows(mine)) != (other.rows if is_ordered else sorted_rows(other)):
        yield f"rows differ: {set(mine.rows) ^ set(other.rows) or 'their order'}"


def sorted_rows(ending: Ending) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in ending.rows)


def about_ending(scenario: Scenario, run: Run) -> Iterator[str]:
    """What is wrong with an ending whatever led to it."""
    ending = run.ending
    if ending.leases or ending.waits or ending.untaken:
        yield f"left over: {ending.leases} leases, {ending.waits} waits, {ending.untaken} deliveries"
    keys = Counter(row[:4] for row in ending.rows)
    if max(keys.values(), default=1) > 1:
        yield f"a row is there twice: {keys.most_common(1)}"
    forward = {"work.undo", "work.undo_later"}
    for instance in ending.instances:
        rows = [row for row in ending.rows if row.instance == instance.instance]
        undone = [row[1:3] for row in rows if row.outcome == "Compensated" and "child:" not in row.scope]
        done = [row[1:3] for row in rows if row.outcome == "Success" and row[1:3] in set(undone)]
        if undone != done[::-1]:
            yield f"undone is {undone}, and done was {done}"
        if instance.state == "Completed" and any(row.capability in forward for row in rows):
            yield "a completed instance has undone something"


def about_turning_back(effects: Sequence[Effect]) -> Iterator[str]:
    """Which effects came after the first undo of their instance and are no undo themselves."""
    going_back: set[str] = set()
    for effect in effects:
        if effect.capability.startswith("work.undo"):
            going_back.add(effect.instance)
        elif effect.instance in going_back:
            yield f"it went on while it went back: {effect}"


def undone(effects: Sequence[Effect]) -> list[str]:
    """What was undone, in order."""
    return [effect.what for effect in effects if effect.capability.startswith("work.undo")]
