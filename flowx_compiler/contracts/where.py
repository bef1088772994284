"""Where an annotation is written, which decides what its names mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowx_compiler.contracts.shape import Shape
from flowx_compiler.model import Lookup
from flowx_compiler.syntax import Assign, Attribute, Class, Expr, Name


@dataclass(frozen=True, slots=True)
class TextRules:
    """What a model's configuration says of every text and every `bytes` in it."""

    shortest: int | None = None
    longest: int | None = None
    bytes_format: str = "binary"


NO_RULES = TextRules()


@dataclass(frozen=True, slots=True)
class Where:
    """The surroundings of an annotation."""

    lookup: Lookup
    module: str
    owner: str = ""
    """Qualified name of the class it stands in."""
    variables: Mapping[str, Shape] = field(default_factory=dict)
    """What type variables stand for, by qualified name."""
    texts: TextRules = NO_RULES
    unfolding: frozenset[str] = frozenset()
    """Aliases on the way down: one that needs itself has no shape that ends."""

    def qualified(self, expression: Expr) -> str | None:
        """The qualified name that a dotted expression means; a class in the body around it goes first."""
        root: Expr = expression
        while isinstance(root, Attribute):
            root = root.value
        if not isinstance(root, Name):
            return None
        if "." in root.id:
            return root.id  # written by the compiler itself: see `written`
        if self.owner and _inner(self.lookup, self.owner, root.id) is not None:
            path = [root.id]
            rest: Expr = expression
            while isinstance(rest, Attribute):
                path.insert(1, rest.attr)
                rest = rest.value
            return ".".join([self.owner, *path])
        return self.lookup.resolve_expression(self.module, expression)


def class_of(lookup: Lookup, qualified: str) -> tuple[str, Class] | None:
    """The module and the statement of a class of the project, at module level or inside a class."""
    found = lookup.definition(qualified)
    if found is not None:
        module, statement = found
        is_plain = isinstance(statement, Class) and not lookup.is_conditional(module, statement.name)
        return (module, statement) if is_plain and isinstance(statement, Class) else None
    owner, _, name = qualified.rpartition(".")
    return _inner(lookup, owner, name) if "." in owner else None


def _inner(lookup: Lookup, owner: str, name: str) -> tuple[str, Class] | None:
    around = class_of(lookup, owner)
    if around is None:
        return None
    found = [item for item in around[1].body if isinstance(item, Class) and item.name == name]
    return (around[0], found[-1]) if found else None


def alias_of(lookup: Lookup, qualified: str) -> tuple[str, Assign] | None:
    """The module and the statement that gives a module-level name its one value."""
    found = lookup.definition(qualified)
    if found is None or not isinstance(found[1], Assign) or found[1].value is None or found[1].augmented:
        return None
    return (found[0], found[1]) if lookup.is_bound_once(qualified) else None
