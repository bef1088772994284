"""The contracts of both documents: each pair compared once, whoever uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowx_compiler.diff.differences import Definition
from flowx_compiler.diff.equality import Equality
from flowx_compiler.diff.normalise import normalise
from flowx_compiler.diff.shapes import Opaque, Shape
from flowx_compiler.diff.unchanged import references
from flowx_compiler.diff.walk import Walk


@dataclass(slots=True)
class Contracts:
    """The contracts of both documents, and what was found out about pairs of them."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    renames: set[tuple[str, str]] = field(default_factory=set)
    """Contracts with another name and the same shape."""
    comparisons: int = 0
    """Pairs compared so far: a test holds it to the number of contracts."""
    _shapes: dict[tuple[bool, str], Shape] = field(default_factory=dict)
    _definitions: dict[tuple[str, str], Definition] = field(default_factory=dict)
    _equal: dict[tuple[str, str], bool] = field(default_factory=dict)

    def shape(self, name: str, *, is_new: bool) -> Shape:
        """A contract's shape; a contract the document does not hold is opaque."""
        known = self._shapes.get((is_new, name))
        if known is None:
            known = self._shapes[is_new, name] = _look_up(self.new if is_new else self.old, name)
        return known

    def definition(self, old: str, new: str) -> Definition:
        """What differs between two contracts."""
        known = self._definitions.get((old, new))
        if known is None:
            self.comparisons += 1
            known = self._definitions[old, new] = self._unchanged(old, new) or self._compared(old, new)
        return known

    def _unchanged(self, old: str, new: str) -> Definition | None:
        # As text, because to Python 1, 1.0 and True are equal.
        if old != new or old not in self.old or repr(self.old[old]) != repr(self.new.get(old)):
            return None
        leads_to = references(self.old[old], old)
        return None if leads_to is None else Definition((), tuple((name, name) for name in leads_to))

    def _compared(self, old: str, new: str) -> Definition:
        walk = Walk(self)
        walk.shapes("", self.shape(old, is_new=False), self.shape(new, is_new=True))
        return walk.definition()

    def are_equal(self, old: str, new: str) -> bool:
        """Whether two contracts have one shape, whatever they and the contracts inside are called.

        An opaque shape equals nothing of another name: nobody knows what it is.
        """
        known = self._equal.get((old, new))
        if known is None:
            assumed: set[tuple[str, str]] = set()
            known = Equality(self.shape, self._equal).of_names(old, new, assumed)
            # What was assumed on the way holds only when the whole does.
            self._equal.update(dict.fromkeys(assumed, True) if known else {(old, new): False})
        return known

    def is_rename(self, old: str, new: str) -> bool:
        """Whether the new name can be the old contract's: neither name is on both sides."""
        return old not in self.new and new not in self.old


def _look_up(contracts: Mapping[str, Any], name: str) -> Shape:
    owner, mark, local = name.partition("#")
    schema = contracts.get(owner)
    if mark and isinstance(schema, dict):
        definitions = schema.get("$defs") or schema.get("definitions")
        schema = definitions.get(local) if isinstance(definitions, dict) else None
    if schema is None:
        return Shape((Opaque("the document does not describe it"),))
    return normalise(schema, owner)
