"""Collects what differs in one pair of contracts; references lead to further pairs instead of into recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowx_compiler.diff.differences import Change, Definition, Difference
from flowx_compiler.diff.kinship import family, kin, relate_formats
from flowx_compiler.diff.limits import Relation, relate_limits
from flowx_compiler.diff.shapes import (
    Alternative,
    Anything,
    Dictionary,
    Field,
    Items,
    Model,
    Opaque,
    Reference,
    Scalar,
    Shape,
    Values,
    describe,
)

if TYPE_CHECKING:
    from flowx_compiler.diff.contracts import Contracts

_BY_RELATION = {
    Relation.WIDER: Change.WIDENED,
    Relation.NARROWER: Change.NARROWED,
    Relation.OTHER: Change.RETYPED,
}


class Walk:
    """Collects the differences of one pair of contracts."""

    def __init__(self, contracts: Contracts) -> None:
        self.contracts = contracts
        self.found: list[Difference] = []
        self.leads_to: dict[tuple[str, str], None] = {}
        self.is_uncompared = False

    def definition(self) -> Definition:
        return Definition(tuple(self.found), tuple(self.leads_to), self.is_uncompared)

    def report(self, path: str, change: Change, old: str, new: str, hint: str = "") -> None:
        self.found.append(Difference(path, change, old, new, hint))

    def shapes(self, path: str, old: Shape, new: Shape, presence: Relation = Relation.SAME) -> None:
        """Compare what may stand at one place.

        Args:
            path: the place.
            old: before.
            new: after.
            presence: WIDER when the place also became optional, NARROWER when it became required.
        """
        if self._opaque(path, old, new):
            self._presence(path, presence)
            return
        relation = self._alternatives(path, old, new)
        if old.is_nullable != new.is_nullable:
            relation = relation.and_(Relation.WIDER if new.is_nullable else Relation.NARROWER)
        if old.discriminator and new.discriminator and old.discriminator != new.discriminator:
            relation = Relation.OTHER
        if relation is presence is Relation.WIDER:
            # `x: int` to `x: int | None = None` is one change, not two.
            self.report(path, Change.WIDENED, f"required {describe(old)}", f"optional {describe(new)}")
            return
        self._presence(path, presence)
        if relation is not Relation.SAME:
            hint = _values_hint(old, new)
            self.report(path, _BY_RELATION[relation], describe(old), describe(new), hint)

    def _presence(self, path: str, presence: Relation) -> None:
        if presence is Relation.NARROWER:
            self.report(path, Change.BECAME_REQUIRED, "optional", "required")
        elif presence is Relation.WIDER:
            self.report(path, Change.BECAME_OPTIONAL, "required", "optional")

    def _opaque(self, path: str, old: Shape, new: Shape) -> bool:
        before = [item for item in old.alternatives if isinstance(item, Opaque)]
        after = [item for item in new.alternatives if isinstance(item, Opaque)]
        if not before and not after:
            return False
        if before == after:
            self.is_uncompared = True
        else:
            self.report(path, Change.OPAQUE, describe(old), describe(new))
        return True

    def _alternatives(self, path: str, old: Shape, new: Shape) -> Relation:
        before, after = list(old.alternatives), list(new.alternatives)
        if Anything() in before or Anything() in after:
            if Anything() in before and Anything() in after:
                return Relation.SAME
            return Relation.NARROWER if Anything() in before else Relation.WIDER
        for alternative in tuple(before):
            if alternative in after:
                partner = after.pop(after.index(alternative))
                before.remove(alternative)
                # Equal shapes may still differ in marks, and name the contracts to go on with.
                if isinstance(alternative, Reference):
                    self.leads_to[alternative.name, alternative.name] = None
                elif isinstance(alternative, Items | Dictionary | Model):
                    self._one(path, alternative, partner)
        relation = self._similar(path, before, after)
        if before:
            relation = relation.and_(Relation.NARROWER)
        if after:
            relation = relation.and_(Relation.WIDER)
        return relation

    def _similar(self, path: str, before: list[Alternative], after: list[Alternative]) -> Relation:
        """Match alternatives that are one thing with changes, take them out, and compare them."""
        relation = Relation.SAME
        self._renamed(before, after)
        for alternative in tuple(before):
            kind = family(alternative)
            mine = [item for item in before if family(item) == kind]
            theirs = [item for item in after if family(item) == kind]
            if kind and len(mine) == len(theirs) == 1:
                before.remove(mine[0])
                after.remove(theirs[0])
                relation = relation.and_(self._one(path, mine[0], theirs[0]))
        if len(before) == len(after) == 1 and (related := kin(before[0], after[0])) is not None:
            before.clear()
            after.clear()
            relation = relation.and_(related)
        return relation

    def _renamed(self, before: list[Alternative], after: list[Alternative]) -> None:
        for old in [item for item in before if isinstance(item, Reference)]:
            for new in [item for item in after if isinstance(item, Reference)]:
                if self.contracts.are_equal(old.name, new.name):
                    self.contracts.renames.add((old.name, new.name))
                    before.remove(old)
                    after.remove(new)
                    break
        old_left = [item for item in before if isinstance(item, Reference)]
        new_left = [item for item in after if isinstance(item, Reference)]
        if len(old_left) == len(new_left) == 1 and self.contracts.is_rename(old_left[0].name, new_left[0].name):
            # Renamed and changed: say what changed inside, not that another type stands here.
            before.remove(old_left[0])
            after.remove(new_left[0])
            self.leads_to[old_left[0].name, new_left[0].name] = None

    def _one(self, path: str, old: Alternative, new: Alternative) -> Relation:
        match old, new:
            case Scalar(), Scalar():
                return relate_formats(old.format, new.format).and_(relate_limits(old.limits, new.limits))
            case Values(), Values():
                gained, lost = set(new.texts) - set(old.texts), set(old.texts) - set(new.texts)
                relation = Relation.WIDER if gained else Relation.SAME
                return relation.and_(Relation.NARROWER) if lost else relation
            case Items(), Items():
                return self._items(path, old, new)
            case Dictionary(), Dictionary():
                self.shapes(f"{path}{{}}", old.value, new.value)
                if old.key is not None and new.key is not None:
                    self.shapes(f"{path}{{key}}", old.key, new.key)
                relation = relate_limits(old.limits, new.limits)
                if (old.key is None) != (new.key is None):
                    relation = relation.and_(Relation.NARROWER if old.key is None else Relation.WIDER)
                return relation
            case Model(), Model():
                self._fields(path, old, new)
                return Relation.SAME
            case _:
                return Relation.OTHER

    def _items(self, path: str, old: Items, new: Items) -> Relation:
        if len(old.prefix) != len(new.prefix) or (old.item is None) != (new.item is None):
            return Relation.OTHER
        for position, (before, after) in enumerate(zip(old.prefix, new.prefix, strict=True)):
            self.shapes(f"{path}[{position}]", before, after)
        if old.item is not None and new.item is not None:
            self.shapes(f"{path}[]", old.item, new.item)
        return relate_limits(old.limits, new.limits)

    def _fields(self, path: str, old: Model, new: Model) -> None:
        before = {member.name: member for member in old.fields}
        after = {member.name: member for member in new.fields}
        added = [after[name] for name in sorted(after.keys() - before.keys())]
        for name in sorted(before.keys() | after.keys()):
            place = f"{path}.{name}" if path else name
            if name not in after:
                hint = self._same_typed(before[name], added)
                self.report(place, Change.REMOVED, describe(before[name].shape), "", hint)
            elif name not in before:
                required = after[name].is_required
                change = Change.REQUIRED_ADDED if required else Change.OPTIONAL_ADDED
                word = "required" if required else "optional"
                self.report(place, change, "", f"{word} {describe(after[name].shape)}")
            else:
                self._field(place, before[name], after[name])
        if (old.is_closed, old.is_open) != (new.is_closed, new.is_open):
            opened = (new.is_open, not new.is_closed) > (old.is_open, not old.is_closed)
            self.report(path, Change.OPENED if opened else Change.CLOSED, _extra(old), _extra(new))

    def _field(self, place: str, old: Field, new: Field) -> None:
        if old.is_sensitive != new.is_sensitive:
            self.report(place, Change.MARKED if new.is_sensitive else Change.UNMARKED, "", "")
        presence = Relation.SAME
        if old.is_required != new.is_required:
            presence = Relation.NARROWER if new.is_required else Relation.WIDER
        self.shapes(place, old.shape, new.shape, presence)

    def _same_typed(self, removed: Field, added: list[Field]) -> str:
        names = [member.name for member in added if member.shape == removed.shape]
        return f"renamed to {names[0]}?" if names else ""


def _extra(model: Model) -> str:
    if model.is_closed:
        return "other fields refused"
    return "other fields kept" if model.is_open else "other fields ignored"


def _values_hint(old: Shape, new: Shape) -> str:
    before = {text for item in old.alternatives if isinstance(item, Values) for text in item.texts}
    after = {text for item in new.alternatives if isinstance(item, Values) for text in item.texts}
    if not before or not after:
        return ""
    gained, lost = sorted(after - before), sorted(before - after)
    words = [*(["added " + ", ".join(gained)] if gained else []), *(["removed " + ", ".join(lost)] if lost else [])]
    return "; ".join(words)
