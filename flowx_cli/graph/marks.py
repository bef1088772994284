"""Where an instance has been, on the picture of its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from flowx_cli.graph.drawing import Way
from flowx_cli.graph.figure import Arm, Block, Box, Figure, Group, Item, Split, indices
from flowx_cli.graph.place import END
from flowx_cli.graph.reading import RECEIVED, SATISFIED
from flowx_cli.operate.moments import moment
from flowx_runtime.engine.session import TIMED_OUT
from flowx_runtime.engine.undo import is_undo_of_child
from flowx_runtime.journal.records import REOPENED, History, RowOutcome, State


class Mark(Enum):
    """What became of a node. Where several hold, the last one is shown."""

    PASSED = "passed"
    DONE = "done"
    UNDONE = "undone"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Marks:
    """One instance's path."""

    by_index: Mapping[int, Mark] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    """What to say beside a node."""
    ended_by: Mapping[int, str] = field(default_factory=dict)
    """Of waits that something ended: the signal."""

    def took(self, way: Way) -> bool:
        """Whether the instance went along a line."""
        reached = self.by_index.keys()
        if not (reached & way.to) or reached & way.unless or (way.then and not reached & way.then):
            return False
        by = None if way.head is None else self.ended_by.get(way.head)
        if way.head is None or (way.ending == RECEIVED and by != TIMED_OUT):
            return True
        return way.ending == (SATISFIED if by is None else by)


NOTHING = Marks()


def marks_of(figure: Figure, history: History) -> Marks:
    """The marks of an instance on the picture of the plan that it is pinned to."""
    found: dict[int, Mark] = {}
    notes: dict[int, str] = {}
    ended_by: dict[int, str] = {}
    counts: Counter[int] = Counter()
    waits = {index for index, node in _waiting_boxes(figure.body)}
    answered: set[tuple[str, int]] = set()
    for row in history.rows:
        if row.capability_id == REOPENED or is_undo_of_child(row.scope):
            continue
        index, code = row.step_id, "" if row.error is None else row.error.code
        is_undo = (row.scope, index) in answered
        counts[index] += not is_undo
        if row.outcome is RowOutcome.COMPENSATED:
            found[index] = Mark.UNDONE
            notes.pop(index, None)
        elif row.outcome is RowOutcome.FAILURE:
            found[index] = Mark.FAILED
            notes[index] = f"undo failed: {code}" if is_undo else code
        else:
            found[index] = Mark.DONE
            notes.pop(index, None)
            answered.add((row.scope, index))
            if index in waits:
                ended_by[index] = row.capability_id
    for index, times in counts.items():
        if times > 1:
            notes[index] = f"{notes[index]}, {times} times" if notes.get(index) else f"{times} times"
    for wait in history.instance.waits:
        found[wait.step_id] = Mark.WAITING
        notes[wait.step_id] = f"waits until {moment(wait.wake_at)}"
    if history.instance.state is State.COMPLETED:
        found[END] = Mark.DONE
    _pass_through(figure.body, found, is_left=END in found)
    return Marks(found, notes, ended_by)


def _waiting_boxes(block: Block) -> list[tuple[int, Box | Group]]:
    found: list[tuple[int, Box | Group]] = []
    for item in block:
        match item:
            case Split():
                if item.is_sideways and item.head.index is not None:
                    found.append((item.head.index, item.head))
                for arm in item.arms:
                    found += _waiting_boxes(arm.block)
            case Group():
                found.append((item.index, item))
                found += _waiting_boxes(item.body)
            case Box():
                continue
    return found


def _pass_through(block: Block, found: dict[int, Mark], *, is_left: bool) -> None:
    """Mark what leaves no row: whatever stands before or around something that was reached."""
    for item in reversed(block):
        is_entered = is_left or any(index in found for index in indices((item,)))
        match item:
            case Split():
                for arm in item.arms:
                    if any(index in found for index in indices(arm.block)):
                        _pass_through(arm.block, found, is_left=is_left)
                _pass_through((item.head,), found, is_left=is_entered)
            case Group():
                if is_entered:
                    found.setdefault(item.index, Mark.PASSED)
                _pass_through(item.body, found, is_left=False)
            case Box():
                if is_entered and item.index is not None:
                    found.setdefault(item.index, Mark.PASSED)
        is_left = is_entered


def annotated(figure: Figure, marks: Marks) -> Figure:
    """The figure with what is to say of each node below its other notes."""
    return replace(figure, body=_annotated_block(figure.body, marks))


def _annotated_block(block: Block, marks: Marks) -> Block:
    return tuple(_annotated(item, marks) for item in block)


def _annotated(item: Item, marks: Marks) -> Item:
    match item:
        case Box() | Group():
            return _annotated_head(item, marks)
        case Split():
            arms = tuple(Arm(arm.label, _annotated_block(arm.block, marks)) for arm in item.arms)
            return replace(item, head=_annotated_head(item.head, marks), arms=arms)


def _annotated_head(head: Box | Group, marks: Marks) -> Box | Group:
    note = "" if head.index is None else marks.notes.get(head.index, "")
    notes = (*head.notes, note) if note else head.notes
    if isinstance(head, Box):
        return replace(head, notes=notes)
    return replace(head, notes=notes, body=_annotated_block(head.body, marks))
