"""What a picture shows of a plan: boxes, the ways they part and come together again, and what is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

FINISH: Final = "finish"
"""The id of the box at which a flow has completed."""


class Look(Enum):
    """What kind of thing a box stands for."""

    STEP = "step"
    CHOICE = "choice"
    FORK = "fork"
    WAIT = "wait"
    EMIT = "emit"
    CHILD = "child"
    FAIL = "fail"
    TERMINAL = "terminal"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Box:
    """One node of the plan."""

    id: str
    """Unique in the picture: `n` and the node's index; `start`, `finish`."""
    look: Look
    title: str
    notes: tuple[str, ...] = ()
    """Smaller lines below the title."""
    undo: Box | None = None
    """What undoes it, if anything does."""
    index: int | None = None
    """The node's index in the plan."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are repeated, in a frame that says for what or how long."""

    id: str
    title: str
    notes: tuple[str, ...]
    body: Block
    index: int


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the ways on from a split; an empty one goes straight on."""

    label: str
    block: Block


@dataclass(frozen=True, slots=True)
class Split:
    """Ways that part below a box or frame, and come together again unless they end."""

    head: Box | Group
    arms: tuple[Arm, ...]
    is_sideways: bool = False
    """The first way is the usual one, and goes straight on; the others leave it to the side."""


Item: TypeAlias = Box | Group | Split
Block: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A whole flow."""

    title: str
    start: Box
    body: Block
    end: Box


def ends(block: Block) -> bool:
    """Whether a block never goes on to what comes after it."""
    if not block:
        return False
    last = block[-1]
    match last:
        case Box():
            return last.look is Look.FAIL
        case Split():
            return all(ends(arm.block) for arm in last.arms)
        case Group():
            return False


def boxes(block: Block) -> Iterator[Box]:
    """Every box in a block, in plan order, without the undos."""
    for item in block:
        match item:
            case Box():
                yield item
            case Group():
                yield from boxes(item.body)
            case Split():
                yield from boxes((item.head,))
                for arm in item.arms:
                    yield from boxes(arm.block)


def indices(block: Block) -> Iterator[int]:
    """The index of every node that a block shows."""
    for item in block:
        match item:
            case Box():
                if item.index is not None:
                    yield item.index
            case Group():
                yield item.index
                yield from indices(item.body)
            case Split():
                yield from indices((item.head,))
                for arm in item.arms:
                    yield from indices(arm.block)
