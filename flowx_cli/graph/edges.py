"""A figure as boxes and the edges between them, for programs that lay pictures out themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_cli.graph.figure import Block, Box, Figure, Group, Item, Look, Split, boxes


@dataclass(frozen=True, slots=True)
class Edge:
    """From one box or frame to another."""

    start: str
    end: str
    label: str = ""
    is_undo: bool = False


@dataclass(frozen=True, slots=True)
class Edges:
    """Every edge of a figure."""

    edges: tuple[Edge, ...]
    reaches_end: bool


@dataclass(frozen=True, slots=True)
class _Open:
    """A way on that does not know yet where it leads."""

    start: str
    label: str = ""


def edges_of(figure: Figure) -> Edges:
    """The edges of a figure, in plan order; the undos last."""
    found: list[Edge] = []
    left = _through(figure.body, [_Open(figure.start.id)], found)
    found += [Edge(way.start, figure.end.id, way.label) for way in left]
    found += [Edge(box.id, box.undo.id, is_undo=True) for box in boxes(figure.body) if box.undo is not None]
    return Edges(tuple(found), bool(left))


def _through(block: Block, ways: list[_Open], found: list[Edge]) -> list[_Open]:
    """Join the open ways to a block; gives those that leave it."""
    for item in block:
        entry = item.head if isinstance(item, Split) else item
        found += [Edge(way.start, entry.id, way.label) for way in ways]
        ways = list(_leaving(item, found))
    return ways


def _leaving(item: Item, found: list[Edge]) -> Iterator[_Open]:
    match item:
        case Box():
            if item.look is not Look.FAIL:
                yield _Open(item.id)
        case Group():
            _through(item.body, [], found)
            yield _Open(item.id)
        case Split():
            if isinstance(item.head, Group):
                _through(item.head.body, [], found)
            for arm in item.arms:
                yield from _through(arm.block, [_Open(item.head.id, arm.label)], found)
