"""What a name means: through aliases, re-exports, relative and star imports, to the module that defines it."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from flowx_compiler.link.sources import Sources
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Block,
    Call,
    Class,
    Constant,
    Display,
    Expr,
    ExprStatement,
    Function,
    Import,
    Module,
    Name,
    Span,
    Stmt,
)

RUNTIME = "flowx_runtime"
_BUILTINS = frozenset(dir(builtins))
_MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__package__", "__spec__"})
Definition: TypeAlias = Class | Function | Assign


@dataclass(frozen=True, slots=True)
class Binding:
    """What one module-level statement binds a name to."""

    definition: Definition | None
    """The statement, for a name the module defines; `None` for an import, a loop variable and the like."""
    imported: tuple[str, str | None] | None
    """For an import: the absolute module, and the name taken from it (`None`: the module itself)."""
    is_conditional: bool
    """Bound in one branch of a runtime decision."""
    span: Span


@dataclass(frozen=True, slots=True)
class StarImport:
    """`from source import *`."""

    source: str
    """The absolute module."""
    span: Span


@dataclass(slots=True)
class Scope:
    """The names of one module."""

    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    star_imports: list[StarImport] = field(default_factory=list)
    for_checkers: list[tuple[Stmt, ...]] = field(default_factory=list)
    """What only type checkers read; it binds what nothing else does."""

    def last(self, name: str) -> Binding | None:
        """The binding that holds when the module has run: the later one wins."""
        found = self.bindings.get(name)
        return found[-1] if found else None


class Names:
    """Resolves names across the modules of a project."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._scopes: dict[str, Scope] = {}

    def module(self, name: str) -> Module | None:
        """A file of the project by its module name; `None` where the project has none."""
        return self._sources.module(name)

    def scope(self, module: str) -> Scope:
        """The names that a module of the project binds."""
        if module not in self._scopes:
            found = self._sources.module(module)
            scope = Scope()
            self._scopes[module] = scope
            if found is not None:
                _collect(found, found.body, scope, conditional=False)
                _add_what_checkers_read(found, scope)
        return self._scopes[module]

    def names(self, module: str) -> frozenset[str]:
        """Every name that a module of the project has, star imports included."""
        return self._names(module, frozenset())

    def resolve(self, module: str, name: str) -> str | None:
        """The qualified name that a module-level or built-in name means; `None` where nothing binds it."""
        found = self._lookup(module, name, frozenset())
        if found is not None:
            return found
        if name in _BUILTINS:
            return f"builtins.{name}"
        return f"{module}.{name}" if name in _MODULE_NAMES else None

    def resolve_expression(self, module: str, expression: Expr) -> str | None:
        """The qualified name that a dotted expression means; `None` where it is none, or cannot be resolved."""
        attributes: list[str] = []
        while isinstance(expression, Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, Name):
            return None
        qualified = self.resolve(module, expression.id)
        for attribute in reversed(attributes):
            if qualified is None:
                return None
            qualified = self._member(qualified, attribute, frozenset())
        return qualified

    def definition(self, qualified: str) -> tuple[str, Definition] | None:
        """The module that defines a qualified name, and the statement; `None` for what is not a plain definition."""
        module, _, name = qualified.rpartition(".")
        if not module or self._sources.module(module) is None:
            return None
        binding = self.scope(module).last(name)
        return None if binding is None or binding.definition is None else (module, binding.definition)

    def is_conditional(self, module: str, name: str) -> bool:
        """Whether which statement binds a name is decided at run time."""
        found = self.scope(module).bindings.get(name, [])
        return len(found) > 1 and any(binding.is_conditional for binding in found)

    def is_bound_once(self, qualified: str) -> bool:
        """Whether one statement of its module binds a qualified name, and no other."""
        module, _, name = qualified.rpartition(".")
        return len(self.scope(module).bindings.get(name, ())) == 1

    def is_project_module(self, name: str) -> bool:
        """Whether a qualified name is a module or package of the project."""
        return not _is_runtime(name) and (self._sources.module(name) is not None or self._sources.is_package(name))

    def _names(self, module: str, seen: frozenset[str]) -> frozenset[str]:
        scope = self.scope(module)
        found = set(scope.bindings)
        for source in {star.source for star in scope.star_imports} - seen:
            if _is_runtime(source):
                found |= _runtime_names()
            elif self._sources.module(source) is not None:
                # Modules may import everything of each other: each is asked once on the way down.
                below = self._names(source, seen | {module})
                found |= {name for name in below if self._is_exported(source, name) is not False}
        return frozenset(found)

    def _lookup(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> str | None:
        if (module, name) in seen:
            return None
        seen |= {(module, name)}
        scope = self.scope(module)
        binding = scope.last(name)
        for star in reversed(scope.star_imports):
            if binding is not None and star.span < binding.span:
                break
            if self._may_come_from(star.source, name):
                return f"{module}.{name}"  # as of a name that is bound in several branches, below
            found = self._from_star(star.source, name, seen)
            if found is not None:
                return found
        if binding is None:
            return None
        if binding.imported is None or self.is_conditional(module, name):
            # Which branch ran is known to the module alone when it runs: what it has under the name is what counts.
            return f"{module}.{name}"
        source, taken = binding.imported
        return source if taken is None else self._member(source, taken, seen)

    def _may_come_from(self, source: str, name: str) -> bool:
        """Whether nothing but running a module tells if it gives a name to those who import everything of it."""
        if _is_runtime(source) or self._sources.module(source) is None or self._is_exported(source, name) is not None:
            return False
        return name in self.names(source)

    def _from_star(self, source: str, name: str, seen: frozenset[tuple[str, str]]) -> str | None:
        if _is_runtime(source):
            return f"{RUNTIME}.{name}" if name in _runtime_names() else None
        if self._sources.module(source) is not None and self._is_exported(source, name):
            return self._lookup(source, name, seen)
        return None

    def _member(self, qualified: str, name: str, seen: frozenset[tuple[str, str]]) -> str | None:
        """What `qualified.name` means."""
        if _is_runtime(qualified):
            return f"{RUNTIME}.{name}" if name[:1].isupper() or name in _runtime_names() else f"{qualified}.{name}"
        if self._sources.module(qualified) is not None:
            found = self._lookup(qualified, name, seen)
            if found is not None:
                return found
        if self.is_project_module(f"{qualified}.{name}"):
            return f"{qualified}.{name}"
        if self._sources.module(qualified) is not None:
            return None
        # A member of a class or constant of the project, or anything of a library: the path itself is its name.
        return f"{qualified}.{name}"

    def _is_exported(self, module: str, name: str) -> bool | None:
        """Whether `import *` takes a name along; `None` where `__all__` is worked out when the module runs."""
        found = self.scope(module).bindings.get("__all__", ())
        if not found:
            return not name.startswith("_")
        listed, *others = found
        value = listed.definition.value if isinstance(listed.definition, Assign) else None
        if others or listed.is_conditional or not isinstance(value, Display):
            return None
        if not all(isinstance(item, Constant) for item in value.items):
            return None
        return any(isinstance(item, Constant) and item.value == name for item in value.items)


def _is_runtime(name: str) -> bool:
    return name == RUNTIME or name.startswith(f"{RUNTIME}.")


def _runtime_names() -> frozenset[str]:
    import flowx_runtime

    return frozenset(flowx_runtime.__all__)


def _collect(module: Module, body: tuple[Stmt, ...], scope: Scope, *, conditional: bool) -> None:
    for statement in body:
        match statement:
            case Import():
                _collect_import(module, statement, scope, conditional=conditional)
            case Class() | Function():
                _bind(scope, statement.name, Binding(statement, None, conditional, statement.name_span))
            case Assign(targets=targets):
                for target in targets:
                    for name, span in _target_names(target):
                        plain = isinstance(target, Name) and not statement.augmented
                        _bind(scope, name, Binding(statement if plain else None, None, conditional, span))
            case Block():
                _collect_block(module, statement, scope, conditional=conditional)
            case ExprStatement(value=Call(function=Attribute(value=Name(id="__all__")))):
                # `__all__.append("more")` binds it anew, as far as anybody can tell who does not run it.
                _bind(scope, "__all__", Binding(None, None, conditional, statement.span))
            case _:
                pass


def _collect_block(module: Module, block: Block, scope: Scope, *, conditional: bool) -> None:
    for name in block.bound:
        _bind(scope, name, Binding(None, None, conditional, block.span))
    if block.kind == "if" and _is_type_checking(block.expressions[0]):
        # What is imported for checkers alone is the same thing at run time; an `else` branch is what really runs.
        for suite in block.suites:
            if suite.role == "body":
                scope.for_checkers.append(suite.body)
            else:
                _collect(module, suite.body, scope, conditional=conditional)
        return
    is_decision = block.kind != "with"
    for suite in block.suites:
        for name in suite.bound:
            _bind(scope, name, Binding(None, None, is_conditional=True, span=suite.span))
        _collect(module, suite.body, scope, conditional=conditional or is_decision)


def _add_what_checkers_read(module: Module, scope: Scope) -> None:
    """Names that are there for type checkers alone, wherever in the module that is said."""
    for body in scope.for_checkers:
        apart = Scope()
        _collect(module, body, apart, conditional=False)
        _add_what_checkers_read(module, apart)
        for name, bindings in apart.bindings.items():
            scope.bindings.setdefault(name, bindings)
        scope.star_imports += apart.star_imports


def _collect_import(module: Module, statement: Import, scope: Scope, *, conditional: bool) -> None:
    source = _absolute(module, statement)
    for item in statement.names:
        if statement.module is None:
            first = item.name.partition(".")[0]
            target = item.name if item.alias is not None else first
            _bind(scope, item.alias or first, Binding(None, (target, None), conditional, item.span))
        elif item.name == "*":
            scope.star_imports.append(StarImport(source, item.span))
        else:
            _bind(scope, item.alias or item.name, Binding(None, (source, item.name), conditional, item.span))


def _absolute(module: Module, statement: Import) -> str:
    if not statement.level:
        return statement.module or ""
    parts = module.name.split(".")
    keep = len(parts) - statement.level + (1 if module.is_package else 0)
    base = parts[: max(keep, 0)]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _bind(scope: Scope, name: str, binding: Binding) -> None:
    scope.bindings.setdefault(name, []).append(binding)


def _is_type_checking(test: Expr) -> bool:
    return (isinstance(test, Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, Attribute) and test.attr == "TYPE_CHECKING"
    )


def _target_names(target: Expr) -> Iterator[tuple[str, Span]]:
    match target:
        case Name():
            yield target.id, target.span
        case Display(items=items):
            for item in items:
                yield from _target_names(item)
        case _:
            return
