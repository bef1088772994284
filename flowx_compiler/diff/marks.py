"""Which members of a contract are marked sensitive, and which marks moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from flowx_compiler.diff.differences import Contracts
from flowx_compiler.diff.document import TypeRef
from flowx_compiler.diff.shapes import Dictionary, Field, Items, Model, Reference, Shape
from flowx_compiler.diff.uses import Use

Path: TypeAlias = tuple[str, ...]


def moved_marks(contracts: Contracts, use: Use) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Members that lost their mark, and members that gained one, by dotted name."""
    if use.old is None or use.new is None:
        return (), ()
    old, new = _Side(contracts, use.old, is_new=False), _Side(contracts, use.new, is_new=True)
    unmarked = [path for path in old.marked if new.has(path) and not new.is_marked(path)]
    marked = [path for path in new.marked if old.has(path) and not old.is_marked(path)]
    return _names(unmarked), _names(marked)


def _names(paths: list[Path]) -> tuple[str, ...]:
    return tuple(sorted(".".join(path) for path in paths))


class _Side:
    """One use of a contract in one document."""

    def __init__(self, contracts: Contracts, reference: TypeRef, *, is_new: bool) -> None:
        self._contracts = contracts
        self._is_new = is_new
        self._root = contracts.shape(reference.type, is_new=is_new)
        self._has_fields = any(True for _ in self._members(self._root, set()))
        self._listed: set[Path] = {tuple(name.split(".")) for name in reference.sensitive}
        self.marked = self._listed | set(self._marks(reference.type))

    def has(self, path: Path) -> bool:
        """Whether the member is there; of a contract without a known shape nobody can say it is gone."""
        return not self._has_fields or bool(self._at(path))

    def is_marked(self, path: Path) -> bool:
        """Whether the member there is marked, by whatever way it is reached."""
        return path in self._listed or any(member.is_sensitive for member in self._at(path))

    def _at(self, path: Path) -> list[Field]:
        shapes = [self._root]
        found: list[Field] = []
        for name in path:
            found = [member for shape in shapes for member in self._members(shape, set()) if member.name == name]
            shapes = [member.shape for member in found]
        return found

    def _marks(self, root: str) -> Iterator[Path]:
        """Each contract is entered once, by the shortest way, so that recursive contracts end."""
        seen = {root}
        waiting: list[tuple[Path, Shape]] = [((), self._root)]
        for path, shape in waiting:
            for member in self._members(shape, seen):
                if member.is_sensitive:
                    yield (*path, member.name)
                waiting.append(((*path, member.name), member.shape))

    def _members(self, shape: Shape, seen: set[str]) -> Iterator[Field]:
        """The fields of every model that may stand here, through lists, mappings and references."""
        for alternative in shape.alternatives:
            match alternative:
                case Model(fields, _, _):
                    yield from fields
                case Reference(name) if name not in seen:
                    seen.add(name)
                    yield from self._members(self._contracts.shape(name, is_new=self._is_new), seen)
                case Items(item, prefix, _):
                    for part in (*prefix, *(() if item is None else (item,))):
                        yield from self._members(part, seen)
                case Dictionary(_, value, _):
                    yield from self._members(value, seen)
                case _:
                    pass
