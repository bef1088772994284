"""Whether two contracts have one shape, whatever they and the contracts inside are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from flowx_compiler.diff.shapes import Alternative, Dictionary, Items, Model, Opaque, Reference, Shape

Assumed: TypeAlias = set[tuple[str, str]]
"""Pairs that are taken to be equal while it is found out whether they are: recursive contracts end."""


class LookUp(Protocol):
    """Where shapes of named contracts come from."""

    def __call__(self, name: str, *, is_new: bool) -> Shape: ...


@dataclass(frozen=True, slots=True)
class Equality:
    """The question, put to the contracts of two documents."""

    shape: LookUp
    known: Mapping[tuple[str, str], bool]
    """Pairs that were asked about before."""

    def of_names(self, old: str, new: str, assumed: Assumed) -> bool:
        """Whether two named contracts are equal; what was assumed on the way holds only when they are."""
        if (old, new) in assumed or self.known.get((old, new)):
            return True
        assumed.add((old, new))
        return self._of_shapes(self.shape(old, is_new=False), self.shape(new, is_new=True), assumed)

    def _of_shapes(self, old: Shape, new: Shape, assumed: Assumed) -> bool:
        if old.is_nullable != new.is_nullable or old.discriminator != new.discriminator:
            return False
        if len(old.alternatives) != len(new.alternatives):
            return False
        left = list(new.alternatives)
        for alternative in old.alternatives:
            for candidate in left:
                trial = set(assumed)
                if self._of_alternatives(alternative, candidate, trial):
                    assumed |= trial
                    left.remove(candidate)
                    break
            else:
                return False
        return True

    def _of_alternatives(self, old: Alternative, new: Alternative, assumed: Assumed) -> bool:
        match old, new:
            case Opaque(), _:
                return False  # nobody knows what it is
            case Reference(a), Reference(b):
                return self.of_names(a, b, assumed)
            case (Items(), Items()) | (Dictionary(), Dictionary()) | (Model(), Model()):
                return _frame(old) == _frame(new) and all(
                    a is b is None or (a is not None and b is not None and self._of_shapes(a, b, assumed))
                    for a, b in zip(_inside(old), _inside(new), strict=True)
                )
            case _:
                return old == new


def _frame(alternative: Alternative) -> object:
    """Everything but the shapes inside."""
    match alternative:
        case Items(_, prefix, limits):
            return len(prefix), limits
        case Dictionary(_, _, limits):
            return limits
        case Model(fields, is_closed, is_open):
            return [(member.name, member.is_required) for member in fields], is_closed, is_open
    return None


def _inside(alternative: Alternative) -> Iterator[Shape | None]:
    match alternative:
        case Items(item, prefix, _):
            yield from (*prefix, item)
        case Dictionary(key, value, _):
            yield from (key, value)
        case Model(fields, _, _):
            yield from (member.shape for member in fields)
