"""Where an annotation is written, which decides what its names mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flowx_compiler.contracts.shape import Shape
from flowx_compiler.model import Lookup
from flowx_compiler.syntax import Assign, Attribute, Class, Expr, Function, Name, TypeParameter


@dataclass(frozen=True, slots=True)
class TextRules:
    """What a model's configuration says of every text and every `bytes` in it."""

    shortest: int | None = None
    longest: int | None = None
    bytes_format: str = "binary"


NO_RULES = TextRules()
_BACKPORT = re.compile(r"^typing_extensions\.")


@dataclass(slots=True)
class Meanings:
    """What names mean; each is looked up once, because a project's contracts say the same few thousands of times."""

    lookup: Lookup
    _names: dict[tuple[str, str, str], str | None] = field(default_factory=dict)
    _classes: dict[str, tuple[str, Class] | None] = field(default_factory=dict)
    _aliases: dict[str, tuple[str, Assign] | None] = field(default_factory=dict)
    _inner: dict[str, Mapping[str, Class]] = field(default_factory=dict)

    def qualified(self, module: str, owner: str, expression: Expr) -> str | None:
        """The qualified name that a dotted expression means in a class of a module."""
        parts: list[str] = []
        root: Expr = expression
        while isinstance(root, Attribute):
            parts.append(root.attr)
            root = root.value
        if not isinstance(root, Name):
            return None
        if "." in root.id:
            return root.id  # written by the compiler itself: see `written_types`
        path = ".".join([root.id, *reversed(parts)])
        key = (module, owner, path)
        if key not in self._names:
            is_inner = bool(owner) and self._is_inner(owner, root.id)
            found = f"{owner}.{path}" if is_inner else self.lookup.resolve_expression(module, expression)
            # What `typing_extensions` has is what a newer `typing` has.
            self._names[key] = None if found is None else _BACKPORT.sub("typing.", found)
        return self._names[key]

    def _is_inner(self, owner: str, name: str) -> bool:
        return name in self.inner(owner) or self.type_parameter(owner, name) is not None

    def definition(self, qualified: str) -> tuple[str, Class | Function | Assign] | None:
        """The module that defines a qualified name, and the statement."""
        return self.lookup.definition(qualified)

    def class_of(self, qualified: str) -> tuple[str, Class] | None:
        """The module and the statement of a class of the project, at module level or inside a class."""
        if qualified not in self._classes:
            self._classes[qualified] = self._find_class(qualified)
        return self._classes[qualified]

    def _find_class(self, qualified: str) -> tuple[str, Class] | None:
        found = self.lookup.definition(qualified)
        if found is not None:
            module, statement = found
            if isinstance(statement, Class) and not self.lookup.is_conditional(module, statement.name):
                return module, statement
            return None
        owner, _, name = qualified.rpartition(".")
        around = self.class_of(owner) if "." in owner else None
        inner = self.inner(owner).get(name) if around is not None else None
        return None if around is None or inner is None else (around[0], inner)

    def inner(self, owner: str) -> Mapping[str, Class]:
        """The classes in the body of a class, by name."""
        if owner not in self._inner:
            found = self.class_of(owner)
            body = () if found is None else found[1].body
            self._inner[owner] = {item.name: item for item in body if isinstance(item, Class)}
        return self._inner[owner]

    def type_parameter(self, owner: str, name: str) -> TypeParameter | None:
        """The `T` of `class Page[T]`, which is a name in that class alone."""
        found = self.class_of(owner)
        parameters = () if found is None else found[1].type_parameters
        return next((parameter for parameter in parameters if parameter.name == name), None)

    def alias_of(self, qualified: str) -> tuple[str, Assign] | None:
        """The module and the statement that gives a module-level name its one value."""
        if qualified not in self._aliases:
            found = self.lookup.definition(qualified)
            is_value = found is not None and isinstance(found[1], Assign) and found[1].value is not None
            alias = None
            if found is not None and is_value and isinstance(found[1], Assign) and not found[1].augmented:
                alias = (found[0], found[1]) if self.lookup.is_bound_once(qualified) else None
            self._aliases[qualified] = alias
        return self._aliases[qualified]


@dataclass(frozen=True, slots=True)
class Where:
    """The surroundings of an annotation."""

    names: Meanings
    module: str
    owner: str = ""
    """Qualified name of the class it stands in."""
    variables: Mapping[str, Given] = field(default_factory=dict)
    """What type variables stand for, by qualified name."""
    texts: TextRules = NO_RULES
    unfolding: frozenset[str] = frozenset()
    """Aliases on the way down: one that needs itself has no shape that ends."""

    def qualified(self, expression: Expr) -> str | None:
        """The qualified name that a dotted expression means; a class in the body around it goes first."""
        return self.names.qualified(self.module, self.owner, expression)


@dataclass(frozen=True, slots=True)
class Given:
    """What is given for a type variable: as it is written, because the model that gets it has text rules of its own."""

    expression: Expr
    where: Where
    shape: Shape
    """Its shape under no text rules."""
