"""One line of the table: what was measured, what it has to be, and what else was measured beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Beside:
    """Something else that did the same in the same run, in turns with what is measured."""

    name: str
    measured: float
    ratio: float
    """Of what is measured to this: the median of the turns' ratios."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement.

    Args:
        what: the line's name.
        measured: the median of the turns.
        unit: what it counts.
        bar: what it has to be, in words; empty where it is told for information alone.
        is_held: whether it is that.
        beside: the references.
        note: what else a reader has to know.
    """

    what: str
    measured: float
    unit: str
    bar: str = ""
    is_held: bool | None = None
    beside: tuple[Beside, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> str:
        return "" if self.is_held is None else "ok" if self.is_held else "MISSED"


def at_least(what: str, measured: float, limit: float, unit: str, **parts: object) -> Figure:
    return Figure(what, measured, unit, f">= {shown(limit)} {unit}", measured >= limit, **parts)  # type: ignore[arg-type]


def at_most(what: str, measured: float, limit: float, unit: str, **parts: object) -> Figure:
    return Figure(what, measured, unit, f"<= {shown(limit)} {unit}", measured <= limit, **parts)  # type: ignore[arg-type]


def beside(name: str, measured: Sequence[float], reference: Sequence[float]) -> Beside:
    """A reference whose turns alternated with those of what is measured."""
    ratios = [ours / theirs for ours, theirs in zip(measured, reference, strict=True) if theirs]
    return Beside(name, median(reference), median(ratios) if ratios else float("nan"))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many per cent of all are below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def shown(number: float) -> str:
    """Three digits that say something, and no more."""
    if number != number:
        return "-"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"
