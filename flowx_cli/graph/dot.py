"""A figure in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_cli.graph.edges import Edge, edges_of
from flowx_cli.graph.figure import FINISH, Block, Box, Figure, Group, Look, Split
from flowx_cli.graph.marks import NOTHING, Mark, Marks
from flowx_cli.graph.place import END

_SHAPES = {Look.CHOICE: "hexagon", Look.CHILD: "component", Look.EMIT: "cds"}
_COLOURS = {
    Mark.DONE: "#16a34a",
    Mark.PASSED: "#16a34a",
    Mark.UNDONE: "#9333ea",
    Mark.FAILED: "#dc2626",
    Mark.WAITING: "#d97706",
}


def dot_of(figure: Figure, marks: Marks = NOTHING) -> str:
    """The text of a digraph."""
    drawn = edges_of(figure)
    frames = {group.id: f"n{group.index}_0" for group in _groups(figure.body)}
    lines = [
        f"digraph {_quoted((figure.title,))} {{",
        "  graph [compound=true fontname=sans-serif fontsize=11 nodesep=0.4 ranksep=0.45];",
        "  node [shape=box style=rounded fontname=sans-serif fontsize=11];",
        "  edge [fontname=sans-serif fontsize=10 color=gray40];",
        *_box(figure.start, marks, "  "),
        *_block(figure.body, marks, "  "),
    ]
    if drawn.reaches_end:
        lines += _box(figure.end, marks, "  ")
    lines += [f"  {_edge(edge, frames)}" for edge in drawn.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _groups(block: Block) -> Iterator[Group]:
    for item in block:
        match item:
            case Group():
                yield item
                yield from _groups(item.body)
            case Split():
                yield from _groups((item.head,))
                for arm in item.arms:
                    yield from _groups(arm.block)
            case Box():
                continue


def _block(block: Block, marks: Marks, indent: str) -> Iterator[str]:
    for item in block:
        match item:
            case Box():
                yield from _box(item, marks, indent)
            case Group():
                yield f"{indent}subgraph cluster_{item.id} {{"
                yield f"{indent}  label={_quoted((item.title, *item.notes))}; style=rounded;"
                yield f"{indent}  {_colour(item.index, marks)}"
                # An edge to a cluster has to end at a node in it.
                yield f"{indent}  n{item.index}_0 [shape=point style=invis];"
                yield from _block(item.body, marks, f"{indent}  ")
                yield f"{indent}}}"
            case Split():
                yield from _block((item.head,), marks, indent)
                for arm in item.arms:
                    yield from _block(arm.block, marks, indent)


def _box(box: Box, marks: Marks, indent: str) -> Iterator[str]:
    shape = f" shape={_SHAPES[box.look]}" if box.look in _SHAPES else ""
    colour = ' color="#dc2626"' if box.look is Look.FAIL else ""
    index = END if box.id == FINISH else box.index
    if index is not None and index in marks.by_index:
        colour = f' color="{_COLOURS[marks.by_index[index]]}" penwidth=2'
    yield f"{indent}{box.id} [label={_quoted((box.title, *box.notes))}{shape}{colour}];"
    if box.undo is not None:
        yield f'{indent}{box.undo.id} [label={_quoted((box.undo.title,))} style="rounded,dashed"];'


def _colour(index: int, marks: Marks) -> str:
    return f'color="{_COLOURS[marks.by_index[index]]}"; penwidth=2;' if index in marks.by_index else "color=gray70;"


def _edge(edge: Edge, frames: dict[str, str]) -> str:
    facts = [f"label={_quoted((edge.label,))}"] if edge.label else []
    if edge.is_undo:
        facts += ["label=undo", "style=dashed", "constraint=false"]
    facts += [f"ltail=cluster_{edge.start}"] if edge.start in frames else []
    facts += [f"lhead=cluster_{edge.end}"] if edge.end in frames else []
    said = f" [{' '.join(facts)}]" if facts else ""
    return f"{frames.get(edge.start, edge.start)} -> {frames.get(edge.end, edge.end)}{said};"


def _quoted(lines: tuple[str, ...]) -> str:
    text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{text}"'
