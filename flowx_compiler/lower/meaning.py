"""What a name of the project means to code that reads it: its own text, and the names that it reads in turn."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from flowx_compiler.link.free_names import free_names, free_paths, root_of
from flowx_compiler.lower.bindings import Bound, Definition, bindings, definition, patched_members
from flowx_compiler.lower.canonical import canonical, canonical_expression
from flowx_compiler.lower.fields import field_code, meaning_of
from flowx_compiler.model import Program
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Call,
    Class,
    Constant,
    Expr,
    Function,
    Import,
    Lambda,
    Name,
    Span,
    walk,
)

_NOWHERE = Span(1, 1, 1, 1)
_NOTHING = Function(
    name="",
    name_span=_NOWHERE,
    decorators=(),
    parameters=(),
    returns=None,
    body=(),
    is_async=False,
    docstring=None,
    text="",
    span=_NOWHERE,
)
_BY_NAME = frozenset({"attrgetter", "getattr", "hasattr", "methodcaller"})
"""Functions of the standard library that are given a member's name as text."""
_HOOKS = frozenset({"_generate_next_value_", "_missing_", "model_post_init"})
"""What pydantic and enumerations call by themselves."""


@dataclass(frozen=True, slots=True)
class References:
    """What code reads of what is outside of it."""

    names: frozenset[str] = frozenset()
    """Qualified names of the project."""
    members: frozenset[str] = frozenset()
    """Names of attributes, whatever they are read of."""

    def __or__(self, other: References) -> References:
        return References(self.names | other.names, self.members | other.members)


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing of the project that code can read."""

    name: str
    """Qualified."""
    text: str
    """Equal for two that mean the same by construction, as far as it is written here."""
    reads: References = References()
    is_data: bool = False
    """Whether it is a class: of it the values count that its instances may have, and its members for themselves."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Of a class: the qualified names of what it defines and instances do not hold, by member name."""

    @property
    def fingerprint(self) -> str:
        """Short enough to be reviewed, long enough that no two meanings share one."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def meaning(program: Program, qualified: str) -> Meaning | None:
    """What a qualified name means; `None` for what is not of the project or not bound by a statement."""
    return program.once("meaning", qualified, lambda: _find(program, qualified))


def references(program: Program, module: str, code: Lambda | Function) -> References:
    """What a function reads. What its decorators name is read too; what its annotations name is not."""
    names: set[str] = set()
    members: set[str] = set()
    parts: list[Lambda | Function] = [code]
    if isinstance(code, Function):
        parts += [_as_code(decorator) for decorator in code.decorators]
    for part in parts:
        rooted: set[Span] = set()
        for path in free_paths(part):
            rooted.add(root_of(path).span)
            names |= _resolved(program, module, path)
        for name, span in free_names(part):
            if span not in rooted:
                names |= _resolved(program, module, Name(name, span))
    for node in walk(code):
        match node:
            case Attribute(attr=attribute):
                members.add(attribute)
            case Call(function=Name(id=function) | Attribute(attr=function), arguments=arguments) if (
                function in _BY_NAME
            ):
                given = [item.value for item in arguments]
                members |= {item.value for item in given if isinstance(item, Constant) and isinstance(item.value, str)}
            case Import(module=str()):
                names |= _imported(program, module, node)
            case _:
                pass
    return References(frozenset(names), frozenset(members))


def _imported(program: Program, module: str, statement: Import) -> set[str]:
    """What an import inside a function takes from modules of the project."""
    assert program.lookup is not None, "a linked program can be asked what a name means"
    home = program.lookup.module(module)
    parts = module.split(".")
    keep = len(parts) - statement.level + (1 if home is not None and home.is_package else 0)
    above = parts[: max(keep, 0)] if statement.level else []
    source = ".".join([*above, *([statement.module] if statement.module else [])])
    if program.lookup.module(source) is None:
        return set()
    return {name for item in statement.names for name in _resolved(program, source, Name(item.name, item.span))}


def _resolved(program: Program, module: str, expression: Expr) -> frozenset[str]:
    assert program.lookup is not None, "a linked program can be asked what a name means"
    if isinstance(expression, Name) and module in program.resolved:
        found = program.resolved[module].get(expression.id)
    else:
        found = program.lookup.resolve_expression(module, expression)
    if found is None or found.startswith(("builtins.", "flowx_runtime.")):
        return frozenset()
    return frozenset((found,))


def _as_code(expression: Expr) -> Lambda:
    return Lambda((), expression, _NOWHERE)


class _Told:
    """Collects what is written of one thing."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.parts: list[str] = []
        self.reads = References()

    def expression(self, module: str, expression: Expr, label: str = "") -> None:
        spelt = canonical_expression(expression, lambda name: _spelt(self._program, module, name))
        self.parts.append(f"{label}{spelt}")
        self.reads |= references(self._program, module, _as_code(expression))

    def statement(self, bound: Bound) -> None:
        module, statement = bound.module, bound.statement
        match statement:
            case Function():
                self.parts.append(canonical(statement, lambda name: _spelt(self._program, module, name)))
                self.reads |= references(self._program, module, statement)
            case Assign(targets=targets, value=value, augmented=False) if all(
                isinstance(target, Name) for target in targets
            ):
                if value is not None:
                    self.expression(module, value)
            case _:
                self.parts.append(canonical_expression(statement, lambda name: _spelt(self._program, module, name)))
                self.reads |= references(self._program, module, _NOTHING._replace(body=(statement,)))


def _spelt(program: Program, module: str, name: str) -> str | None:
    if module in program.resolved:
        return program.resolved[module].get(name)
    assert program.lookup is not None, "a linked program can be asked what a name means"
    return program.lookup.resolve_expression(module, Name(name, _NOWHERE))


def _find(program: Program, qualified: str) -> Meaning | None:
    found = definition(program, qualified)
    if found is None:
        return None
    if found.name != qualified:
        return meaning(program, found.name)
    if qualified in program.flows:
        return Meaning(qualified, "")
    if qualified in program.capabilities:
        # A capability's body is free to change: its result is recorded. What its decorator says is in the plan.
        return Meaning(qualified, "", is_data=True)
    if qualified in program.errors:
        error = program.errors[qualified]
        return Meaning(qualified, f"{error.code} {error.category}", is_data=True)
    if found.syntax is not None:
        return _class(program, found, found.syntax)
    told = _Told(program)
    for bound in (*found.bound, *found.patched):
        told.statement(bound)
    reads = told.reads
    if len(found.path) > 1 and any(isinstance(bound.statement, Function) for bound in found.bound):
        # A method is given the class, or an instance of it.
        reads |= References(frozenset((found.name.rpartition(".")[0],)))
    return Meaning(qualified, "\n".join(told.parts), reads)


def _class(program: Program, found: Definition, syntax: Class) -> Meaning:
    told = _Told(program)
    module = found.module
    names: set[str] = set()
    members: dict[str, str] = {}
    is_enumeration = _is_enumeration(program, found, syntax)
    for base in syntax.bases:
        if base.keyword is None:
            names |= _in_annotation(program, module, base.value)
        else:
            told.expression(module, base.value, f"{base.keyword}=")
    for decorator in syntax.decorators:
        function = decorator.function if isinstance(decorator, Call) else decorator
        if not (meaning_of(program, module, function) or "").startswith("flowx_runtime."):
            told.expression(module, decorator, "@")
    for name, statements in bindings(syntax.body).items():
        qualified = f"{found.name}.{name}"
        for statement in statements:
            match statement:
                case Assign(annotation=annotation, value=value) if annotation is not None and not is_enumeration:
                    for home, label, expression in field_code(program, module, annotation, value):
                        told.expression(home, expression, f"{name}.{label}=")
                    names |= _in_annotation(program, module, annotation)
                case Assign(value=value) if value is not None and (is_enumeration or name == "model_config"):
                    told.expression(module, value, f"{name}=")
                    members[name] = qualified
                case Function() if _is_called_unasked(program, module, name, statement):
                    names.add(qualified)
                    members[name] = qualified
                case _:
                    members[name] = qualified
    members |= {name: f"{found.name}.{name}" for name in patched_members(program, found.name)}
    parts = told.parts if is_enumeration else sorted(told.parts)
    reads = told.reads | References(frozenset(names))
    return Meaning(found.name, "\n".join(parts), reads, is_data=True, members=members)


def _is_enumeration(program: Program, found: Definition, syntax: Class) -> bool:
    if found.name in program.enumerations:
        return True
    bases = [meaning_of(program, found.module, base.value) for base in syntax.bases]
    return any(base is not None and base.startswith("enum.") for base in bases)


def _is_called_unasked(program: Program, module: str, name: str, function: Function) -> bool:
    """Whether no code has to name it: operators, construction, and what pydantic calls."""
    if name in _HOOKS or (name.startswith("__") and name.endswith("__")):
        return True
    for decorator in function.decorators:
        target = decorator.function if isinstance(decorator, Call) else decorator
        if (meaning_of(program, module, target) or "").startswith("pydantic."):
            return True
    return False


def _in_annotation(program: Program, module: str, annotation: Expr) -> frozenset[str]:
    """The names of the project that values of a type can have to do with; an alias is looked through."""
    found: set[str] = set()
    open_parts: list[tuple[str, Expr]] = [(module, annotation)]
    seen: set[str] = set()
    while open_parts:
        home, expression = open_parts.pop()
        for name in references(program, home, _as_code(expression)).names - seen:
            seen.add(name)
            defined = definition(program, name)
            match None if defined is None or len(defined.bound) != 1 else defined.bound[0].statement:
                case Assign(value=value) if value is not None and defined is not None:
                    open_parts.append((defined.module, value))
                case Class() | Function():
                    found.add(name)
                case _:
                    pass
    return frozenset(found)
