"""A picture with every place settled: what is left is to write it down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from flowx_cli.graph.figure import Box, Group

Point: TypeAlias = tuple[float, float]

TITLE_SIZE = 13.0
NOTE_SIZE = 11.0
TITLE_LINE = 17.0
NOTE_LINE = 15.0


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of a title, then of notes."""

    title: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def height(self) -> float:
        return len(self.title) * TITLE_LINE + len(self.notes) * NOTE_LINE


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A place, from its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box and where it is."""

    box: Box
    text: Text
    at: Rectangle


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A frame and where it is; its text stands at its left upper corner."""

    group: Group
    text: Text
    at: Rectangle


@dataclass(frozen=True, slots=True)
class Way:
    """What a line leads to, so that it can be told whether an instance went there."""

    to: frozenset[int]
    """The nodes it leads to; of an empty arm, all that come after."""
    then: frozenset[int] = frozenset()
    """Where it leaves an arm: the nodes that come after."""
    unless: frozenset[int] = frozenset()
    """The nodes of the other arms, for an empty one."""
    head: int | None = None
    """The wait that an empty arm leaves."""
    ending: str = ""
    """By which ending of that wait."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of straight parts; an arrow at its end unless it only joins another."""

    points: tuple[Point, ...]
    way: Way
    has_arrow: bool = True
    is_undo: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A word on a line."""

    text: str
    at: Rectangle


@dataclass(slots=True)
class Drawing:
    """Everything that is drawn."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[PlacedBox] = field(default_factory=list)
    groups: list[PlacedGroup] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
