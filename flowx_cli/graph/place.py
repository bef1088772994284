"""Finds a place for everything in a figure: top to bottom, arms side by side, nothing over anything else.

Every item has a spine, the upright line on which it is entered and left. Items of a block stand below each other on
one spine; arms stand beside each other, and lines run in the strips that are left free between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import assert_never

from flowx_cli.graph.drawing import (
    NOTE_SIZE,
    TITLE_SIZE,
    Drawing,
    Label,
    Line,
    PlacedBox,
    PlacedGroup,
    Rectangle,
    Text,
    Way,
)
from flowx_cli.graph.figure import FINISH, Arm, Block, Box, Figure, Group, Item, Look, Split, ends, indices
from flowx_cli.graph.letters import lines_of, width_of

MARGIN = 24.0
PAD_X, PAD_Y = 14.0, 9.0
SLANT = 12.0
"""How far the sides of a choice lean."""
NARROWEST = 96.0
WIDEST = 330.0
WIDEST_HEADING = 440.0
BELOW = 32.0
"""Between two items of a block."""
BESIDE = 32.0
"""Between two arms."""
BUS = 16.0
"""From a box to the line along which ways part or join."""
LABEL_HEIGHT = 18.0
UNDO_GAP = 66.0
FRAME = 16.0
END = -1
"""Stands for the end of the flow among indices of nodes."""

_UNDO = "undo"


@dataclass(frozen=True, slots=True)
class _Extent:
    """How far something reaches from its spine, and down."""

    left: float
    right: float
    height: float


def place(figure: Figure) -> Drawing:
    """The drawing of a figure."""
    block: Block = (figure.start, *figure.body)
    if not ends(figure.body):
        block = (*block, figure.end)
    placing = _Placing()
    extent = placing.block_extent(block)
    placing.draw_block(block, MARGIN + extent.left, MARGIN, frozenset())
    placing.drawing.width = extent.left + extent.right + 2 * MARGIN
    placing.drawing.height = extent.height + 2 * MARGIN
    return placing.drawing


def text_of(title: str, notes: tuple[str, ...], *, limit: float = WIDEST) -> Text:
    """A text in lines."""
    return Text(
        lines_of(title, TITLE_SIZE, is_bold=True, limit=limit),
        tuple(line for note in notes for line in lines_of(note, NOTE_SIZE, limit=limit, most=2)),
    )


def text_width(text: Text) -> float:
    """The width of its widest line."""
    titles = (width_of(line, TITLE_SIZE, is_bold=True) for line in text.title)
    return max([*titles, *(width_of(line, NOTE_SIZE) for line in text.notes)], default=0.0)


class _Placing:
    def __init__(self) -> None:
        self.drawing = Drawing()
        self._extents: dict[int, _Extent] = {}

    # Extents, from the inside out

    def block_extent(self, block: Block) -> _Extent:
        found = [self.extent(item) for item in block]
        return _Extent(
            max((each.left for each in found), default=0.0),
            max((each.right for each in found), default=0.0),
            sum(each.height for each in found) + BELOW * max(0, len(found) - 1),
        )

    def extent(self, item: Item) -> _Extent:
        known = self._extents.get(id(item))
        if known is None:
            known = self._extents[id(item)] = self._measured(item)
        return known

    def _measured(self, item: Item) -> _Extent:
        match item:
            case Box():
                width, height = _size(item)
                undo = 0.0 if item.undo is None else UNDO_GAP + _size(item.undo)[0]
                undo_height = 0.0 if item.undo is None else _size(item.undo)[1]
                return _Extent(width / 2, width / 2 + undo, max(height, undo_height))
            case Group():
                body, text = self.block_extent(item.body), text_of(item.title, item.notes, limit=WIDEST_HEADING)
                lacking = max(0.0, text_width(text) - body.left - body.right) / 2
                height = PAD_Y + text.height + FRAME / 2 + body.height + FRAME
                return _Extent(body.left + FRAME + lacking, body.right + FRAME + lacking, height)
            case Split():
                head, arms = self.extent(item.head), [self._arm_extent(arm) for arm in item.arms]
                spines = _spines(item, arms)
                return _Extent(
                    max(head.left, arms[0].left - spines[0]),
                    max(head.right, spines[-1] + arms[-1].right),
                    head.height + _parting(item) + max(arm.height for arm in arms) + (0.0 if ends((item,)) else BUS),
                )
            case _:
                assert_never(item)

    def _arm_extent(self, arm: Arm) -> _Extent:
        body = self.block_extent(arm.block)
        half = max(20.0, _label_width(arm.label) / 2)
        return _Extent(max(body.left, half), max(body.right, half), body.height)

    # Places, from the outside in

    def draw_block(self, block: Block, spine: float, y: float, following: frozenset[int]) -> None:
        for position, item in enumerate(block):
            after = frozenset(_reached(block[position + 1 :])) | following
            self._draw(item, spine, y, after)
            bottom = y + self.extent(item).height
            if position + 1 < len(block) and not ends((item,)):
                start = bottom if not isinstance(item, Box) else y + _size(item)[1]
                way = Way(frozenset(_reached(block[position + 1 :])))
                self.drawing.lines.append(Line(((spine, start), (spine, bottom + BELOW)), way))
            y = bottom + BELOW

    def _draw(self, item: Item, spine: float, y: float, following: frozenset[int]) -> None:
        match item:
            case Box():
                self._draw_box(item, spine, y)
            case Group():
                self._draw_group(item, spine, y)
            case Split():
                self._draw_split(item, spine, y, following)
            case _:
                assert_never(item)

    def _draw_box(self, box: Box, spine: float, y: float) -> None:
        width, height = _size(box)
        at = Rectangle(spine - width / 2, y, width, height)
        self.drawing.boxes.append(PlacedBox(box, text_of(box.title, box.notes), at))
        if box.undo is None:
            return
        undo_width, undo_height = _size(box.undo)
        beside = Rectangle(at.right + UNDO_GAP, y, undo_width, undo_height)
        self.drawing.boxes.append(PlacedBox(box.undo, text_of(box.undo.title, box.undo.notes), beside))
        level = y + min(height, undo_height) / 2
        points = ((at.right, level), (beside.x, level))
        self.drawing.lines.append(Line(points, Way(frozenset()), is_undo=True))
        self._label(_UNDO, (at.right + beside.x) / 2 - 3, level)

    def _draw_group(self, group: Group, spine: float, y: float) -> None:
        extent = self.extent(group)
        at = Rectangle(spine - extent.left, y, extent.left + extent.right, extent.height)
        text = text_of(group.title, group.notes, limit=WIDEST_HEADING)
        self.drawing.groups.append(PlacedGroup(group, text, at))
        self.draw_block(group.body, spine, y + PAD_Y + text.height + FRAME / 2, frozenset())

    def _draw_split(self, split: Split, spine: float, y: float, following: frozenset[int]) -> None:
        self._draw(split.head, spine, y, following)
        arms = [self._arm_extent(arm) for arm in split.arms]
        parting = y + self.extent(split.head).height
        if isinstance(split.head, Box):
            parting = y + _size(split.head)[1]
        top = y + self.extent(split.head).height + _parting(split)
        joint = top + max(arm.height for arm in arms) + BUS
        for arm, extent, offset in zip(split.arms, arms, _spines(split, arms), strict=True):
            self._draw_arm(split, arm, extent, (spine, spine + offset), (parting, top, joint), following)

    def _draw_arm(
        self,
        split: Split,
        arm: Arm,
        extent: _Extent,
        spines: tuple[float, float],
        levels: tuple[float, float, float],
        following: frozenset[int],
    ) -> None:
        (spine, own), (parting, top, joint) = spines, levels
        lines, bus = self.drawing.lines, parting + BUS
        way = Way(frozenset(_reached(arm.block)))
        if not arm.block:
            others = frozenset(index for other in split.arms for index in indices(other.block))
            head = split.head.index if split.is_sideways else None
            way = Way(following, unless=others, head=head, ending=arm.label)
        start = ((spine, parting), (spine, bus), (own, bus)) if own != spine else ((spine, parting),)
        if arm.block:
            lines.append(Line((*start, (own, top)), way))
            self.draw_block(arm.block, own, top, following)
            if not ends(arm.block):
                bottom = top + extent.height
                last = arm.block[-1]
                if isinstance(last, Box):
                    bottom -= self.extent(last).height - _size(last)[1]
                lines.append(Line(_joining(own, spine, bottom, joint), replace(way, then=following), has_arrow=False))
        else:
            lines.append(Line((*start, *_joining(own, spine, top, joint)), way, has_arrow=False))
        if arm.label:
            self._label(arm.label, own, bus + LABEL_HEIGHT / 2 + 4)

    def _label(self, text: str, middle: float, level: float) -> None:
        width = _label_width(text)
        at = Rectangle(middle - width / 2, level - LABEL_HEIGHT / 2, width, LABEL_HEIGHT)
        self.drawing.labels.append(Label(text, at))


def _joining(own: float, spine: float, bottom: float, joint: float) -> tuple[tuple[float, float], ...]:
    """From the end of an arm to where arms join."""
    straight = ((own, bottom), (own, joint))
    return straight if own == spine else (*straight, (spine, joint))


def _reached(block: Block) -> list[int]:
    found = list(indices(block))
    return [*found, END] if any(isinstance(item, Box) and item.id == FINISH for item in block) else found


def _spines(split: Split, arms: list[_Extent]) -> list[float]:
    """Where the spine of each arm is, from the spine of the split."""
    spines = [0.0]
    for before, arm in pairwise(arms):
        spines.append(spines[-1] + before.right + BESIDE + arm.left)
    halfway = len(spines) // 2
    centre = spines[halfway] if len(spines) % 2 else (spines[halfway - 1] + spines[halfway]) / 2
    middle = 0.0 if split.is_sideways else centre
    return [spine - middle for spine in spines]


def _parting(split: Split) -> float:
    """The height of the strip in which ways part."""
    return BUS + (LABEL_HEIGHT + 20.0 if any(arm.label for arm in split.arms) else BUS)


def _size(box: Box) -> tuple[float, float]:
    text = text_of(box.title, box.notes)
    width = max(NARROWEST, text_width(text) + 2 * PAD_X)
    return width + (2 * SLANT if box.look is Look.CHOICE else 0.0), text.height + 2 * PAD_Y


def _label_width(text: str) -> float:
    return width_of(text, NOTE_SIZE) + 10.0
