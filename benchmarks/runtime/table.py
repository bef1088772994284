"""The figures as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.runtime.figure import Figure, shown

_HEAD = ("what", "measured", "bar", "", "beside", "there", "ratio")


def table(figures: Iterable[Figure]) -> str:
    """A row for each figure, and one more for each further reference and note."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for figure in figures:
        references = [(each.name, f"{shown(each.measured)} {figure.unit}", shown(each.ratio)) for each in figure.beside]
        measured = f"{shown(figure.measured)} {figure.unit}".strip()
        rows.append((figure.what, measured, figure.bar, figure.verdict, *(references or [("", "", "")])[0]))
        rows += [("", "", "", "", *each) for each in references[1:]]
        if figure.note:
            rows.append((f"  {figure.note}",))
    widths = [max(len(row[column]) for row in rows if len(row) > 1) for column in range(len(_HEAD))]
    return "\n".join(_line(row, widths) for row in rows)


def markdown(figures: Iterable[Figure]) -> str:
    """The same for a page: a row for each figure, its notes behind its name."""
    rows = ["| what | flowx | held to | beside it, and the ratio of flowx to that |", "|---|---|---|---|"]
    for figure in figures:
        references = "; ".join(
            f"{each.name}: {shown(each.measured)} {figure.unit}, **{shown(each.ratio)}**" for each in figure.beside
        )
        held = figure.bar + (", missed" if figure.is_held is False else "")
        measured = f"{shown(figure.measured)} {figure.unit}".strip()
        note = f" ({figure.note})" if figure.note else ""
        rows.append(f"| {figure.what} | {measured}{note} | {held} | {references} |")
    return "\n".join(rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    if len(row) == 1:
        return row[0]
    numbers = {1, 5, 6}
    cells = (
        cell.rjust(width) if column in numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
