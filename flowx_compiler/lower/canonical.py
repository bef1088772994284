"""What code means, apart from how it is laid out and what its locals are called: the digest's view of it."""

from __future__ import annotations

from collections.abc import Callable

from flowx_compiler.syntax import (
    Argument,
    Attribute,
    Compound,
    Constant,
    ExprStatement,
    Function,
    Lambda,
    Name,
    Parameter,
    Span,
)

Resolve = Callable[[str], str | None]


def canonical(syntax: Lambda | Function, resolve: Resolve) -> str:
    """A text that is equal for two functions exactly if they do the same by construction.

    Local names become numbers in order of appearance, names from outside their qualified names. Layout, comments,
    annotations and docstrings do not appear.
    """
    writer = _Writer(resolve, _bound_names(syntax))
    if isinstance(syntax, Lambda):
        return writer.write((syntax.parameters, syntax.body))
    body = syntax.body
    if body and isinstance(body[0], ExprStatement) and isinstance(body[0].value, Constant):
        body = body[1:]
    return writer.write((syntax.parameters, body))


def canonical_expression(expression: object, resolve: Resolve) -> str:
    """The same for an expression that binds nothing."""
    return _Writer(resolve, frozenset()).write(expression)


class _Writer:
    def __init__(self, resolve: Resolve, bound: frozenset[str]) -> None:
        self._resolve = resolve
        self._bound = bound
        self._numbers: dict[str, int] = {}

    def write(self, part: object) -> str:
        match part:
            case Span():
                return ""
            case Name(id=name):
                return self._name(name)
            case Constant(value=value):
                return f"{type(value).__name__}:{value!r}"
            case Attribute(value=value, attr=attribute):
                return f"{self.write(value)}.{attribute}"
            case Argument(value=value, keyword=keyword, star=star):
                return f"{star}{keyword or ''}={self.write(value)}"
            case Parameter(name=name, default=default, kind=kind):
                return f"{kind} {self._name(name)}={self.write(default)}"
            case Compound(kind=kind, parts=parts, bound=bound):
                return f"{kind}({self.write(tuple(self._name(name) for name in bound))} {self.write(parts)})"
            case Function(name=name, parameters=parameters, body=body):
                return f"def {self._name(name)}({self.write(parameters)}){self.write(body)}"
            case tuple() if hasattr(part, "_fields"):
                inner = " ".join(filter(None, (self.write(item) for item in part)))
                return f"{type(part).__name__}({inner})"
            case tuple():
                return "[" + " ".join(self.write(item) for item in part) + "]"
            case str():
                return self._name(part) if part in self._bound else part
            case _:
                return str(part)

    def _name(self, name: str) -> str:
        if name in self._bound:
            return f"${self._numbers.setdefault(name, len(self._numbers))}"
        return self._resolve(name) or name


def _bound_names(part: object) -> frozenset[str]:
    from flowx_compiler.link.free_names import bound_in

    match part:
        case Lambda(parameters=parameters, body=body):
            return frozenset(parameter.name for parameter in parameters) | _bound_names(body)
        case Function(parameters=parameters, body=body):
            return frozenset(parameter.name for parameter in parameters) | bound_in(body) | _bound_names(body)
        case Compound(bound=bound, parts=parts):
            return frozenset(bound) | _bound_names(parts)
        case Span():
            return frozenset()
        case tuple():
            return frozenset(name for item in part for name in _bound_names(item))
        case _:
            return frozenset()
