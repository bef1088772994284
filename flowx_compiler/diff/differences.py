"""What differs between two contracts, before anybody asks who is hurt.

A difference has no direction: that a field was added is a fact; whether it breaks depends on whether values of the
contract are accepted or produced, which the rules decide. Each pair of contracts is compared once, whoever uses it;
references lead to further pairs instead of into recursion, so recursive contracts end and every cost is linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

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
    Unknown,
    Values,
    describe,
    normalise,
)
from flowx_compiler.diff.unchanged import references


class Change(Enum):
    """What happened at one place of a contract."""

    OPTIONAL_ADDED = "optional field added"
    REQUIRED_ADDED = "required field added"
    REMOVED = "field removed"
    BECAME_REQUIRED = "became required"
    BECAME_OPTIONAL = "became optional"
    WIDENED = "takes more values"
    NARROWED = "takes fewer values"
    RETYPED = "is of another type"
    OPENED = "keeps fields that are not listed"
    CLOSED = "refuses fields that are not listed"
    OPAQUE = "cannot be compared"
    MARKED = "is marked sensitive"
    UNMARKED = "is no longer marked sensitive"


_BY_RELATION = {
    Relation.WIDER: Change.WIDENED,
    Relation.NARROWER: Change.NARROWED,
    Relation.OTHER: Change.RETYPED,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two contracts differ."""

    path: str
    """Below the contract: `lines[].price`; empty for the contract itself."""
    change: Change
    old: str
    new: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """The outcome for one pair of contracts."""

    differences: tuple[Difference, ...]
    leads_to: tuple[tuple[str, str], ...]
    """Pairs of contracts that fields of this pair refer to."""
    is_uncompared: bool = False
    """Opaque in the same words on both sides, at least in part."""


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
        walk = _Walk(self)
        walk.shapes("", self.shape(old, is_new=False), self.shape(new, is_new=True))
        return walk.definition()

    def are_equal(self, old: str, new: str) -> bool:
        """Whether two contracts have one shape, whatever they and the contracts inside are called.

        An opaque shape equals nothing of another name: nobody knows what it is.
        """
        known = self._equal.get((old, new))
        if known is None:
            assumed: set[tuple[str, str]] = set()
            known = self._same_name(old, new, assumed)
            # What was assumed on the way holds only when the whole does.
            self._equal.update(dict.fromkeys(assumed, True) if known else {(old, new): False})
        return known

    def is_rename(self, old: str, new: str) -> bool:
        """Whether the new name can be the old contract's: neither name is on both sides."""
        return old not in self.new and new not in self.old

    def _same_name(self, old: str, new: str, assumed: set[tuple[str, str]]) -> bool:
        if (old, new) in assumed or self._equal.get((old, new)):
            return True
        assumed.add((old, new))
        return self._same(self.shape(old, is_new=False), self.shape(new, is_new=True), assumed)

    def _same(self, old: Shape, new: Shape, assumed: set[tuple[str, str]]) -> bool:
        if old.is_nullable != new.is_nullable or old.discriminator != new.discriminator:
            return False
        if len(old.alternatives) != len(new.alternatives):
            return False
        left = list(new.alternatives)
        for alternative in old.alternatives:
            for candidate in left:
                trial = set(assumed)
                if self._same_alternative(alternative, candidate, trial):
                    assumed |= trial
                    left.remove(candidate)
                    break
            else:
                return False
        return True

    def _same_alternative(self, old: Alternative, new: Alternative, assumed: set[tuple[str, str]]) -> bool:
        match old, new:
            case Opaque(), _:
                return False
            case Reference(a), Reference(b):
                return self._same_name(a, b, assumed)
            case Items(), Items():
                return old.limits == new.limits and self._same_all(
                    (*old.prefix, old.item), (*new.prefix, new.item), assumed
                )
            case Dictionary(), Dictionary():
                return old.limits == new.limits and self._same_all((old.key, old.value), (new.key, new.value), assumed)
            case Model(), Model():
                frame = [(member.name, member.is_required) for member in old.fields]
                return (
                    frame == [(member.name, member.is_required) for member in new.fields]
                    and (old.is_closed, old.is_open) == (new.is_closed, new.is_open)
                    and self._same_all(
                        tuple(member.shape for member in old.fields),
                        tuple(member.shape for member in new.fields),
                        assumed,
                    )
                )
            case _:
                return old == new

    def _same_all(
        self, old: tuple[Shape | None, ...], new: tuple[Shape | None, ...], assumed: set[tuple[str, str]]
    ) -> bool:
        return len(old) == len(new) and all(
            a is b is None or (a is not None and b is not None and self._same(a, b, assumed))
            for a, b in zip(old, new, strict=True)
        )


def _look_up(contracts: Mapping[str, Any], name: str) -> Shape:
    owner, mark, local = name.partition("#")
    schema = contracts.get(owner)
    if mark and isinstance(schema, dict):
        definitions = schema.get("$defs") or schema.get("definitions")
        schema = definitions.get(local) if isinstance(definitions, dict) else None
    if schema is None:
        return Shape((Opaque("the document does not describe it"),))
    return normalise(schema, owner)


class _Walk:
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
            family = _family(alternative)
            mine = [item for item in before if _family(item) == family]
            theirs = [item for item in after if _family(item) == family]
            if family and len(mine) == len(theirs) == 1:
                before.remove(mine[0])
                after.remove(theirs[0])
                relation = relation.and_(self._one(path, mine[0], theirs[0]))
        if len(before) == len(after) == 1 and (kin := _kin(before[0], after[0])) is not None:
            before.clear()
            after.clear()
            relation = relation.and_(kin)
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
                return _format(old.format, new.format).and_(relate_limits(old.limits, new.limits))
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


def _family(alternative: Alternative) -> str:
    """Alternatives of one family are one thing with changes; references are matched by name instead."""
    match alternative:
        case Scalar(type_, _, _):
            return type_
        case Reference() | Anything() | Opaque():
            return ""
        case Values() | Items() | Dictionary() | Model() | Unknown():
            return type(alternative).__name__


def _kin(old: Alternative, new: Alternative) -> Relation | None:
    """How two alternatives of different families relate, when one contains the other."""
    match old, new:
        case Scalar("integer", _, _), Scalar("number", _, ()):
            return Relation.WIDER
        case Scalar("number", _, ()), Scalar("integer", _, _):
            return Relation.NARROWER
        case Values(texts), Scalar("string", "", ()) if all(text.startswith('"') for text in texts):
            return Relation.WIDER
        case Scalar("string", "", ()), Values(texts) if all(text.startswith('"') for text in texts):
            return Relation.NARROWER
        case _:
            return None


def _format(old: str, new: str) -> Relation:
    if old == new:
        return Relation.SAME
    if not old:
        return Relation.NARROWER
    return Relation.OTHER if new else Relation.WIDER


def _values_hint(old: Shape, new: Shape) -> str:
    before = {text for item in old.alternatives if isinstance(item, Values) for text in item.texts}
    after = {text for item in new.alternatives if isinstance(item, Values) for text in item.texts}
    if not before or not after:
        return ""
    gained, lost = sorted(after - before), sorted(before - after)
    words = [*(["added " + ", ".join(gained)] if gained else []), *(["removed " + ", ".join(lost)] if lost else [])]
    return "; ".join(words)
