"""A figure as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_cli.graph.edges import Edge, edges_of
from flowx_cli.graph.figure import Block, Box, Figure, Group, Look, Split
from flowx_cli.graph.marks import NOTHING, Marks
from flowx_cli.graph.place import END

_SHAPES = {
    Look.CHOICE: ("{{", "}}"),
    Look.WAIT: ("([", "])"),
    Look.TERMINAL: ("([", "])"),
    Look.CHILD: ("[[", "]]"),
    Look.EMIT: (">", "]"),
}
_ENTITIES = {"#": "#35;", '"': "#quot;", "&": "#amp;", "<": "#lt;", ">": "#gt;"}
_CLASSES = """\
  classDef fail fill:#fef2f2,stroke:#dc2626
  classDef undo stroke-dasharray:4 3,color:#64748b
  classDef done fill:#f0fdf4,stroke:#16a34a,stroke-width:2px
  classDef passed stroke:#16a34a,stroke-width:2px
  classDef undone stroke:#9333ea,stroke-width:2px,stroke-dasharray:6 3
  classDef failed fill:#fef2f2,stroke:#dc2626,stroke-width:3px
  classDef waiting fill:#fffbeb,stroke:#d97706,stroke-width:3px"""


def mermaid_of(figure: Figure, marks: Marks = NOTHING) -> str:
    """The text of a flowchart."""
    drawn = edges_of(figure)
    lines = ["flowchart TD", *_box(figure.start, "  "), *_block(figure.body, "  ")]
    if drawn.reaches_end:
        lines += _box(figure.end, "  ")
    lines += [f"  {_edge(edge)}" for edge in drawn.edges]
    lines.append(_CLASSES)
    lines += _marked(figure.body, marks)
    if END in marks.by_index:
        lines.append(f"  class {figure.end.id} done")
    return "\n".join(lines) + "\n"


def _block(block: Block, indent: str) -> Iterator[str]:
    for item in block:
        match item:
            case Box():
                yield from _box(item, indent)
            case Group():
                yield f'{indent}subgraph {item.id}["{_quoted((item.title, *item.notes))}"]'
                yield from _block(item.body, f"{indent}  ")
                yield f"{indent}end"
            case Split():
                yield from _block((item.head,), indent)
                for arm in item.arms:
                    yield from _block(arm.block, indent)


def _box(box: Box, indent: str) -> Iterator[str]:
    opening, closing = _SHAPES.get(box.look, ("[", "]"))
    yield f'{indent}{box.id}{opening}"{_quoted((box.title, *box.notes))}"{closing}'
    if box.undo is not None:
        yield f'{indent}{box.undo.id}["{_quoted((box.undo.title,))}"]'


def _edge(edge: Edge) -> str:
    if edge.is_undo:
        return f"{edge.start} -.->|undo| {edge.end}"
    return f'{edge.start} -->|"{_quoted((edge.label,))}"| {edge.end}' if edge.label else f"{edge.start} --> {edge.end}"


def _marked(block: Block, marks: Marks) -> Iterator[str]:
    for item in block:
        match item:
            case Box():
                if item.look is Look.FAIL:
                    yield f"  class {item.id} fail"
                if item.undo is not None:
                    yield f"  class {item.undo.id} undo"
                if item.index is not None and item.index in marks.by_index:
                    yield f"  class {item.id} {marks.by_index[item.index].value}"
            case Group():
                yield from _marked(item.body, marks)
                if item.index in marks.by_index:
                    yield f"  class {item.id} {marks.by_index[item.index].value}"
            case Split():
                yield from _marked((item.head,), marks)
                for arm in item.arms:
                    yield from _marked(arm.block, marks)


def _quoted(lines: tuple[str, ...]) -> str:
    return "<br/>".join("".join(_ENTITIES.get(letter, letter) for letter in line) for line in lines)
