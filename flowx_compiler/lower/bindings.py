"""The statements that give a name of the project what it means: those that bind it, and those that change it later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from flowx_compiler.link.free_names import bound_in
from flowx_compiler.model import Lookup, Program
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Block,
    Call,
    Class,
    Constant,
    Expr,
    ExprStatement,
    Import,
    Name,
    Stmt,
    Subscript,
)


@dataclass(frozen=True, slots=True)
class Bound:
    """One statement that binds or changes a name."""

    module: str
    statement: Stmt


@dataclass(frozen=True, slots=True)
class Definition:
    """A qualified name of the project, taken apart."""

    module: str
    path: tuple[str, ...]
    """The module-level name, and the members below it that are written in class bodies."""
    bound: tuple[Bound, ...]
    """In source order; more than one where it is rebound or overloaded."""
    patched: tuple[Bound, ...] = ()
    """Statements elsewhere that change it."""

    @property
    def name(self) -> str:
        """The qualified name of what is defined; what was asked for may be an attribute of its value."""
        return ".".join((self.module, *self.path))

    @property
    def syntax(self) -> Class | None:
        """The class, where it is one."""
        found = self.bound[-1].statement if len(self.bound) == 1 else None
        return found if isinstance(found, Class) else None


def definition(program: Program, qualified: str) -> Definition | None:
    """What a qualified name is bound by; `None` for a name of a library, or one that nothing binds."""
    lookup = program.lookup
    assert lookup is not None, "a linked program can be asked what a name means"
    module, _, rest = qualified.rpartition(".")
    while module and lookup.module(module) is None:
        module, _, name = module.rpartition(".")
        rest = f"{name}.{rest}"
    if not module:
        return None
    first, *members = rest.split(".")
    bound = tuple(Bound(module, item) for item in _of_module(program, module).get(first, ()))
    if not bound:
        return None
    found = Definition(module, (first,), bound)
    for member in members:
        if found.syntax is None:
            break
        inner = tuple(Bound(module, item) for item in bindings(found.syntax.body).get(member, ()))
        if not inner and f"{found.name}.{member}" not in _patches(program):
            break
        found = Definition(module, (*found.path, member), inner)
    return replace(found, patched=_patches(program).get(found.name, ()))


def bindings(body: tuple[Stmt, ...]) -> Mapping[str, list[Stmt]]:
    """By name, the statements of a body that bind it; a block binds as a whole, an import leads elsewhere."""
    found: dict[str, list[Stmt]] = {}
    for statement in body:
        if not isinstance(statement, Import):
            for name in bound_in((statement,)):
                found.setdefault(name, []).append(statement)
    return found


def patched_members(program: Program, owner: str) -> Iterator[str]:
    """The members of a class that statements outside of it set."""
    for name in _patches(program):
        if name.rpartition(".")[0] == owner:
            yield name.rpartition(".")[2]


def _of_module(program: Program, module: str) -> Mapping[str, list[Stmt]]:
    def find() -> Mapping[str, list[Stmt]]:
        found = None if program.lookup is None else program.lookup.module(module)
        return {} if found is None else bindings(found.body)

    return program.once("bindings", module, find)


def _patches(program: Program) -> Mapping[str, tuple[Bound, ...]]:
    """By qualified name, the statements at module level that change what it names, in whatever module."""
    return program.once("patches", "", lambda: _found_patches(program))


def _found_patches(program: Program) -> Mapping[str, tuple[Bound, ...]]:
    assert program.lookup is not None, "a linked program can be asked what a name means"
    found: dict[str, tuple[Bound, ...]] = {}
    for name, module in sorted(program.modules.items()):
        for top in module.body:
            for statement in _flat(top):
                for qualified in _changed(program.lookup, name, statement):
                    found[qualified] = (*found.get(qualified, ()), Bound(name, top))
    return found


def _flat(statement: Stmt) -> Iterator[Stmt]:
    if isinstance(statement, Block):
        for suite in statement.suites:
            for inner in suite.body:
                yield from _flat(inner)
    else:
        yield statement


def _changed(lookup: Lookup, module: str, statement: Stmt) -> Iterator[str]:
    changed: list[Expr] = []
    suffix = ""
    match statement:
        case Assign(targets=targets):
            changed += [target for target in targets if isinstance(target, Attribute)]
            changed += [target.value for target in targets if isinstance(target, Subscript)]
        case ExprStatement(value=Call(function=Name(id="setattr"), arguments=(owner, named, *_))):
            if isinstance(named.value, Constant) and isinstance(named.value.value, str):
                changed.append(owner.value)
                suffix = f".{named.value.value}"
        case ExprStatement(value=Call(function=Attribute(value=Name() | Attribute() as target))):
            changed.append(target)
        case _:
            return
    for expression in changed:
        qualified = lookup.resolve_expression(module, expression)
        if qualified is not None:
            yield qualified + suffix
