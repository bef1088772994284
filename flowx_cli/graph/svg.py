"""A drawing as SVG: one file, with its own styles, that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from flowx_cli.graph.drawing import (
    NOTE_LINE,
    NOTE_SIZE,
    TITLE_LINE,
    TITLE_SIZE,
    Drawing,
    Label,
    Line,
    PlacedBox,
    PlacedGroup,
    Rectangle,
)
from flowx_cli.graph.figure import FINISH, Look
from flowx_cli.graph.marks import NOTHING, Marks
from flowx_cli.graph.place import END, FRAME, PAD_Y, SLANT

_STYLE: Final = """
text { font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: #1e293b; text-anchor: middle; }
.title { font-weight: 600; }
.note { fill: #64748b; }
.box { fill: #ffffff; stroke: #64748b; stroke-width: 1.3; }
.choice .box { fill: #eef2ff; stroke: #6366f1; }
.fork .box { fill: #f1f5f9; stroke: #475569; }
.wait .box { fill: #fff7ed; stroke: #ea9a3e; }
.emit .box { fill: #ecfeff; stroke: #0e97ad; }
.child .box { fill: #f5f3ff; stroke: #8b5cf6; }
.fail .box { fill: #fef2f2; stroke: #dc2626; }
.terminal .box { fill: #1e293b; stroke: #1e293b; }
.terminal .title { fill: #ffffff; }
.terminal .note { fill: #cbd5e1; }
.undo .box { fill: #ffffff; stroke: #94a3b8; stroke-dasharray: 4 3; }
.undo .title { fill: #64748b; font-weight: 400; }
.frame { fill: #f8fafc; stroke: #cbd5e1; stroke-width: 1.3; }
.group text { text-anchor: start; }
.line { fill: none; stroke: #94a3b8; stroke-width: 1.4; }
.line.undoes { stroke-dasharray: 4 3; }
.line.taken { stroke: #16a34a; stroke-width: 2.2; }
.label rect { fill: #ffffff; }
.label text { fill: #475569; }
.done > .box, .done > .frame { stroke: #16a34a; stroke-width: 2.2; }
.done > .box { fill: #f0fdf4; }
.passed > .box, .passed > .frame { stroke: #16a34a; stroke-width: 2.2; }
.undone > .box { fill: #faf5ff; stroke: #9333ea; stroke-width: 2.2; stroke-dasharray: 6 3; }
.failed > .box, .failed > .frame { fill: #fef2f2; stroke: #dc2626; stroke-width: 2.6; }
.waiting > .box, .waiting > .frame { fill: #fffbeb; stroke: #d97706; stroke-width: 2.6; }
.terminal.done > .box { fill: #166534; stroke: #166534; }
""".strip()


def svg_of(drawing: Drawing, title: str, marks: Marks = NOTHING) -> str:
    """The document."""
    width, height = _number(drawing.width), _number(drawing.height)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title)}">'
    )
    parts = [
        opening,
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        "<defs>",
        *(_arrow(name, colour) for name, colour in (("to", "#94a3b8"), ("taken", "#16a34a"))),
        "</defs>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(_group(group, marks) for group in drawing.groups),
        *(_line(line, is_taken=False) for line in drawing.lines if not marks.took(line.way)),
        *(_line(line, is_taken=True) for line in drawing.lines if marks.took(line.way)),
        *(_label(label) for label in drawing.labels),
        *(_box(box, marks) for box in drawing.boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def _group(placed: PlacedGroup, marks: Marks) -> str:
    at, index = placed.at, placed.group.index
    frame = f'<rect class="frame" {_place(at)} rx="8"/>'
    words = _words(placed.text.title, placed.text.notes, at.x + FRAME, at.y + PAD_Y)
    return _wrapped("group", index, marks, [frame, *words], placed.group.title)


def _box(placed: PlacedBox, marks: Marks) -> str:
    box, at = placed.box, placed.at
    index = END if box.id == FINISH else box.index
    top = at.y + (at.height - placed.text.height) / 2
    words = _words(placed.text.title, placed.text.notes, at.middle, top)
    whole = " · ".join((box.title, *box.notes))
    return _wrapped(box.look.value, index, marks, [_shape(box.look, at), *words], whole)


def _wrapped(look: str, index: int | None, marks: Marks, parts: list[str], whole: str) -> str:
    mark = None if index is None else marks.by_index.get(index)
    classes = look if mark is None else f"{look} {mark.value}"
    return f'<g class="{classes}"><title>{escape(whole)}</title>{"".join(parts)}</g>'


def _shape(look: Look, at: Rectangle) -> str:
    if look is Look.CHOICE:
        middle = at.y + at.height / 2
        corners = (
            (at.x, middle),
            (at.x + SLANT, at.y),
            (at.right - SLANT, at.y),
            (at.right, middle),
            (at.right - SLANT, at.bottom),
            (at.x + SLANT, at.bottom),
        )
        return f'<polygon class="box" points="{_points(corners)}"/>'
    radius = {Look.TERMINAL: 16, Look.WAIT: 16, Look.FORK: 2}.get(look, 6)
    return f'<rect class="box" {_place(at)} rx="{radius}"/>'


def _words(title: tuple[str, ...], notes: tuple[str, ...], x: float, top: float) -> Iterator[str]:
    y = top
    for line in title:
        y += TITLE_LINE
        yield _text("title", line, x, y - 4, TITLE_SIZE)
    for line in notes:
        y += NOTE_LINE
        yield _text("note", line, x, y - 4, NOTE_SIZE)


def _line(line: Line, *, is_taken: bool) -> str:
    classes = "line" + (" undoes" if line.is_undo else "") + (" taken" if is_taken else "")
    marker = f' marker-end="url(#{"taken" if is_taken else "to"})"' if line.has_arrow else ""
    return f'<polyline class="{classes}" points="{_points(line.points)}"{marker}/>'


def _label(label: Label) -> str:
    at = label.at
    text = _text("", label.text, at.middle, at.y + at.height / 2 + NOTE_SIZE / 3, NOTE_SIZE)
    return f'<g class="label"><rect {_place(at)} rx="3"/>{text}</g>'


def _text(name: str, words: str, x: float, y: float, size: float) -> str:
    named = f' class="{name}"' if name else ""
    return f'<text{named} x="{_number(x)}" y="{_number(y)}" font-size="{_number(size)}">{escape(words)}</text>'


def _place(at: Rectangle) -> str:
    return f'x="{_number(at.x)}" y="{_number(at.y)}" width="{_number(at.width)}" height="{_number(at.height)}"'


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
