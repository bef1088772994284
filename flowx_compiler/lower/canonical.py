"""What code means, apart from how it is laid out and what its locals are called: the digest's view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

from flowx_compiler.link.free_names import bound_in, walruses
from flowx_compiler.syntax import (
    LEAVES,
    Argument,
    Assign,
    Attribute,
    Block,
    Class,
    Compound,
    Constant,
    ExprStatement,
    Function,
    ImportedName,
    Lambda,
    Name,
    Operation,
    Other,
    Parameter,
    Return,
    Span,
    Stmt,
    Suite,
)

Resolve = Callable[[str], str | None]


def canonical(syntax: Lambda | Function, resolve: Resolve) -> str:
    """A text that is equal for two functions only if they do the same by construction.

    Local names become numbers in order of appearance, names from outside their qualified names. Layout, comments,
    annotations and the docstring do not appear.
    """
    writer = _Writer(resolve)
    outside = _Scope((), None)
    if isinstance(syntax, Lambda):
        return writer.write_lambda(syntax, outside)
    return writer.write_function(syntax, outside)


def canonical_expression(expression: object, resolve: Resolve) -> str:
    """The same for an expression that binds nothing."""
    return _Writer(resolve).write(expression, _Scope((), None))


class _Scope:
    """The names one function, lambda or comprehension binds."""

    def __init__(self, names: Iterable[str], outer: _Scope | None) -> None:
        self._names = frozenset(names)
        self._outer = outer
        self._numbers: dict[str, int] = {}

    def number(self, name: str, fresh: count[int]) -> int | None:
        """The number of a local name, `None` for a name from outside."""
        if name not in self._names:
            return None if self._outer is None else self._outer.number(name, fresh)
        if name not in self._numbers:
            self._numbers[name] = next(fresh)
        return self._numbers[name]


class _Writer:
    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._fresh = count()

    def write(self, part: object, scope: _Scope) -> str:
        match part:
            case Span():
                return ""
            case Name(id=name):
                return self._name(name, scope)
            case Constant(value=value):
                return f"{type(value).__name__}:{value!a}"
            case Attribute(value=value, attr=attribute):
                return f"{self.write(value, scope)}.{attribute}"
            case Argument(value=value, keyword=keyword, star=star):
                return f"{star}{keyword or ''}={self.write(value, scope)}"
            case Operation(kind=kind, operators=operators, operands=operands):
                return f"{kind}{list(operators)}{self.write(operands, scope)}"
            case Lambda():
                return self.write_lambda(part, scope)
            case Compound():
                return self._compound(part, scope)
            case Function(name=name):
                return f"{self._name(name, scope)}={self.write_function(part, scope)}"
            case Class(name=name, decorators=decorators, bases=bases, body=body):
                inside = self.write((decorators, bases, body), scope)
                return f"class {self._name(name, scope)}{inside}"
            case Assign(targets=targets, value=value, operator=operator):
                return f"assign {operator}{self.write((targets, value), scope)}"
            case Block(kind=kind, expressions=expressions, bound=bound, suites=suites, shape=shape):
                return f"{kind}{shape}{self._names(bound, scope)}{self.write((expressions, suites), scope)}"
            case Suite(role=role, expressions=expressions, bound=bound, body=body, shape=shape):
                return f"{role}{shape}{self._names(bound, scope)}{self.write((expressions, body), scope)}"
            case ImportedName(name=name, alias=alias):
                return f"import {name} as {self._name(alias or name, scope)}"
            case Other(kind=kind, expressions=expressions, names=names):
                return f"{kind}{self._names(names, scope)}{self.write(expressions, scope)}"
            case tuple() if hasattr(part, "_fields"):
                return f"{type(part).__name__}{self.write(tuple(part), scope)}"
            case tuple():
                return "[" + " ".join(self.write(item, scope) for item in part) + "]"
            case _:
                return str(part)

    def write_lambda(self, syntax: Lambda, outer: _Scope) -> str:
        """A lambda and a function of one `return` are the same thing."""
        names = (*(parameter.name for parameter in syntax.parameters), *walruses(syntax.body))
        scope = _Scope(names, outer)
        parameters = self._parameters(syntax.parameters, scope, outer)
        return f"({parameters}){self._returned(syntax.body, scope)}"

    def write_function(self, syntax: Function, outer: _Scope) -> str:
        """Decorators count, the docstring does not."""
        scope = _Scope((*(parameter.name for parameter in syntax.parameters), *bound_in(syntax.body)), outer)
        decorators = self.write(syntax.decorators, outer) if syntax.decorators else ""
        parameters = self._parameters(syntax.parameters, scope, outer)
        body = _without_docstring(syntax.body)
        is_async = "async" if syntax.is_async else ""
        return f"{decorators}{is_async}({parameters})" + " ".join(self._statement(item, scope) for item in body)

    def _statement(self, statement: Stmt, scope: _Scope) -> str:
        if isinstance(statement, Return):
            return self._returned(statement.value, scope)
        return self.write(statement, scope)

    def _returned(self, value: object, scope: _Scope) -> str:
        return f"return {self.write(value, scope)}"

    def _parameters(self, parameters: tuple[Parameter, ...], scope: _Scope, outer: _Scope) -> str:
        return " ".join(
            f"{parameter.kind} {self._name(parameter.name, scope)}={self.write(parameter.default, outer)}"
            for parameter in parameters
        )

    def _compound(self, part: Compound, scope: _Scope) -> str:
        if not part.bound or part.kind == "walrus":
            return f"{part.kind}{part.shape}{self._names(part.bound, scope)}{self.write(part.parts, scope)}"
        inner = _Scope(part.bound, scope)
        first, *rest = part.parts
        source = self.write(first, scope)
        return f"{part.kind}{part.shape}{source}{self._names(part.bound, inner)}{self.write(tuple(rest), inner)}"

    def _names(self, names: tuple[str, ...], scope: _Scope) -> str:
        return "".join(f" {self._name(name, scope)}" for name in names)

    def _name(self, name: str, scope: _Scope) -> str:
        number = scope.number(name, self._fresh)
        return self._resolve(name) or name if number is None else f"${number}"


def _without_docstring(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    match body:
        case (ExprStatement(value=Constant(value=str())), _, *_):
            return body[1:]
        case _:
            return body


def local_names(part: object) -> frozenset[str]:
    """Every name that a piece of code binds anywhere in it."""
    names: set[str] = set()
    open_parts = [part]
    while open_parts:
        current = open_parts.pop()
        match current:
            case Lambda(parameters=parameters):
                names |= {parameter.name for parameter in parameters}
            case Function(name=name, parameters=parameters, body=body):
                names |= {name, *(parameter.name for parameter in parameters)} | bound_in(body)
                current = (parameters, body)  # decorators run where the function is defined
            case Compound(bound=bound):
                names |= set(bound)
            case _:
                pass
        if isinstance(current, tuple):
            open_parts += [inner for inner in current if type(inner) not in LEAVES]
    return frozenset(names)
