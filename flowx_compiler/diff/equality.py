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
        waiting = [(old, new)]
        while waiting:
            pair = waiting.pop()
            if pair in assumed or self.known.get(pair):
                continue
            assumed.add(pair)
            before, after = self.shape(pair[0], is_new=False), self.shape(pair[1], is_new=True)
            if not self._of_shapes(before, after, assumed, waiting):
                return False
        return True

    def _of_shapes(self, old: Shape, new: Shape, assumed: Assumed, waiting: list[tuple[str, str]] | None) -> bool:
        """Compare two shapes.

        Args:
            old: before.
            new: after.
            assumed: pairs taken to be equal.
            waiting: takes the contracts that have to be equal too, so that long chains of contracts are no recursion;
                without it they are compared at once, as choosing among the parts of a union needs.
        """
        if old.is_nullable != new.is_nullable or old.discriminator != new.discriminator:
            return False
        if len(old.alternatives) != len(new.alternatives):
            return False
        if len(old.alternatives) == 1:
            return self._of_alternatives(old.alternatives[0], new.alternatives[0], assumed, waiting)
        left = list(new.alternatives)
        for alternative in old.alternatives:
            for candidate in left:
                trial = set(assumed)
                if self._of_alternatives(alternative, candidate, trial, None):
                    assumed |= trial
                    left.remove(candidate)
                    break
            else:
                return False
        return True

    def _of_alternatives(
        self, old: Alternative, new: Alternative, assumed: Assumed, waiting: list[tuple[str, str]] | None
    ) -> bool:
        match old, new:
            case Opaque(), _:
                return False  # nobody knows what it is
            case Reference(a), Reference(b):
                if waiting is None:
                    return self.of_names(a, b, assumed)
                waiting.append((a, b))
                return True
            case (Items(), Items()) | (Dictionary(), Dictionary()) | (Model(), Model()):
                return _frame(old) == _frame(new) and all(
                    a is b is None or (a is not None and b is not None and self._of_shapes(a, b, assumed, waiting))
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
