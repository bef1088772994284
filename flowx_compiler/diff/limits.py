"""How two sets of constraints relate: which of them lets more values through."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any

from flowx_compiler.diff.shapes import Limits


class Relation(Enum):
    """What the new side lets through, against the old."""

    SAME = "same"
    WIDER = "wider"
    NARROWER = "narrower"
    OTHER = "other"
    """Neither contains the other, or nobody can tell."""

    def and_(self, other: Relation) -> Relation:
        """Both at once."""
        if Relation.SAME in (self, other) or self is other:
            return other if self is Relation.SAME else self
        return Relation.OTHER


_LOWER = ("minLength", "minItems", "minProperties")
_UPPER = ("maxLength", "maxItems", "maxProperties")


def relate_limits(old: Limits, new: Limits) -> Relation:
    """Whether the new constraints let more through, less, or something else."""
    before, after = dict(old), dict(new)
    relation = Relation.SAME
    for name in _LOWER:
        relation = relation.and_(_tighter(before.get(name), after.get(name), up=True))
    for name in _UPPER:
        relation = relation.and_(_tighter(before.get(name), after.get(name), up=False))
    relation = relation.and_(_bound(before, after, "minimum", "exclusiveMinimum", up=True))
    relation = relation.and_(_bound(before, after, "maximum", "exclusiveMaximum", up=False))
    for name in ("pattern", "uniqueItems", "multipleOf"):
        relation = relation.and_(_condition(name, before.get(name), after.get(name)))
    return relation


def _bound(before: dict[str, Any], after: dict[str, Any], inclusive: str, exclusive: str, *, up: bool) -> Relation:
    return _tighter(_edge(before, inclusive, exclusive, up=up), _edge(after, inclusive, exclusive, up=up), up=up)


def _edge(limits: dict[str, Any], inclusive: str, exclusive: str, *, up: bool) -> tuple[Any, int] | None:
    """The binding bound; of two equal ones the exclusive binds harder."""
    edges = [(limits[name], weight) for name, weight in ((inclusive, 0), (exclusive, 1)) if name in limits]
    if not edges:
        return None
    value, weight = max(edges) if up else min(edges, key=lambda edge: (edge[0], -edge[1]))
    return value, weight if up else -weight


def _tighter(old: Any, new: Any, *, up: bool) -> Relation:
    if old == new:
        return Relation.SAME
    if old is None:
        return Relation.NARROWER
    if new is None:
        return Relation.WIDER
    return Relation.NARROWER if (new > old) == up else Relation.WIDER


def _condition(name: str, old: Any, new: Any) -> Relation:
    """A condition that is there or not, and does not compare by size."""
    if old == new:
        return Relation.SAME
    if old is None:
        return Relation.NARROWER
    if new is None:
        return Relation.WIDER
    if name == "multipleOf" and old and new:
        if Fraction(str(new)) % Fraction(str(old)) == 0:
            return Relation.NARROWER
        if Fraction(str(old)) % Fraction(str(new)) == 0:
            return Relation.WIDER
    return Relation.OTHER
