"""The names that a lambda or function takes from outside itself."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.syntax import (
    LEAVES,
    Assign,
    Attribute,
    Block,
    Class,
    Compound,
    Display,
    Expr,
    ExprStatement,
    Function,
    Import,
    Lambda,
    Name,
    Other,
    Raise,
    Return,
    Span,
    Stmt,
    walk,
)

_LAMBDAS: frozenset[type] = frozenset({Lambda})
_OTHER_FUNCTIONS: frozenset[type] = frozenset({Lambda, Function, Class})


def free_names(syntax: Lambda | Function) -> Iterator[tuple[str, Span]]:
    """Every use of a name that the code itself does not bind, in source order (annotations excluded)."""
    if isinstance(syntax, Lambda):
        yield from _lambda(syntax, frozenset())
    else:
        yield from _function(syntax, frozenset())


def names_in(part: object, name: str) -> bool:
    """Whether a piece of syntax mentions a name."""
    if isinstance(part, Name):
        return part.id == name
    return isinstance(part, tuple) and not isinstance(part, Span) and any(names_in(inner, name) for inner in part)


def bound_in(body: tuple[Stmt, ...]) -> frozenset[str]:
    """The names that a function's statements bind, nested functions and classes excluded."""
    return frozenset(_bound_by_statements(body))


def free_paths(syntax: Lambda | Function) -> Iterator[Attribute]:
    """The longest dotted expressions that start at a name which the code itself does not bind."""
    roots = {span for _, span in free_names(syntax)}
    yield from _paths(syntax, roots)


def root_of(path: Attribute) -> Name:
    """The name that a dotted expression starts at."""
    value: Expr = path
    while isinstance(value, Attribute):
        value = value.value
    assert isinstance(value, Name), "a path starts at a name"
    return value


def is_generator(syntax: Lambda | Function) -> bool:
    """Whether calling the code gives a generator."""
    return any(
        isinstance(node, Compound) and node.kind in ("yield", "yield_from")
        for node in walk(syntax.body, _OTHER_FUNCTIONS)
    )


def _paths(part: object, roots: set[Span]) -> Iterator[Attribute]:
    open_parts = [part]
    while open_parts:
        current = open_parts.pop()
        if isinstance(current, Attribute):
            value: Expr = current
            while isinstance(value, Attribute):
                value = value.value
            if isinstance(value, Name):
                if value.span in roots:
                    yield current
                continue
        if isinstance(current, tuple):
            open_parts += _below(current)


def _lambda(syntax: Lambda, bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    for parameter in syntax.parameters:
        if parameter.default is not None:
            yield from _expression(parameter.default, bound)
    inner = bound | {parameter.name for parameter in syntax.parameters}
    yield from _expression(syntax.body, inner | frozenset(walruses(syntax.body)))


def _function(syntax: Function, bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    for parameter in syntax.parameters:
        if parameter.default is not None:
            yield from _expression(parameter.default, bound)
    inner = bound | {parameter.name for parameter in syntax.parameters} | bound_in(syntax.body)
    yield from _statements(syntax.body, inner)


def _statements(body: tuple[Stmt, ...], bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    for statement in body:
        match statement:
            case Function():
                for decorator in statement.decorators:
                    yield from _expression(decorator, bound)
                yield from _function(statement, bound)
            case Class():
                for base in statement.bases:
                    yield from _expression(base.value, bound)
                yield from _statements(statement.body, bound)
            case Block():
                for expression in statement.expressions:
                    yield from _expression(expression, bound)
                for suite in statement.suites:
                    for expression in suite.expressions:
                        yield from _expression(expression, bound)
                    yield from _statements(suite.body, bound)
            case Import():
                pass
            case Assign(targets=targets, value=value):
                for target in targets:
                    yield from _expression(target, bound)
                if value is not None:
                    yield from _expression(value, bound)
            case Other(expressions=expressions):
                for expression in expressions:
                    yield from _expression(expression, bound)
            case ExprStatement(value=value):
                yield from _expression(value, bound)
            case Return(value=value) | Raise(value=value) if value is not None:
                yield from _expression(value, bound)
            case _:
                pass


def _expression(expression: Expr, bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    match expression:
        case Name(id=name, span=span):
            if name not in bound:
                yield name, span
        case Lambda():
            yield from _lambda(expression, bound)
        case Compound(parts=parts, bound=names, kind=kind) if names and kind != "walrus":
            # The first iterable is evaluated outside, but a name that it shares with a target is the author's puzzle.
            for number, part in enumerate(parts):
                yield from _expression(part, bound if number == 0 else bound | set(names))
        case _:
            yield from _parts(expression, bound)


def _parts(part: object, bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """The names in every expression below a node that binds nothing itself."""
    open_parts = _below(part)
    while open_parts:
        current = open_parts.pop()
        if isinstance(current, Name):
            if current.id not in bound:
                yield current.id, current.span
        elif isinstance(current, Lambda | Compound):
            yield from _expression(current, bound)
        else:
            open_parts += _below(current)


def _below(part: object) -> list[object]:
    """What is directly below a part, the last first: a stack to take it from in source order."""
    return [inner for inner in part[::-1] if type(inner) not in LEAVES] if isinstance(part, tuple) else []


def walruses(expression: object) -> Iterator[str]:
    """The names that `:=` binds in the scope an expression stands in, lambdas inside it excluded."""
    for node in walk(expression, _LAMBDAS):
        if isinstance(node, Compound) and node.kind == "walrus":
            yield from node.bound


def _bound_by_statements(body: tuple[Stmt, ...]) -> Iterator[str]:
    for statement in body:
        match statement:
            case Function(name=name) | Class(name=name):
                yield name
            case Import(module=module, names=names):
                for item in names:
                    yield item.alias or (item.name.partition(".")[0] if module is None else item.name)
            case Block(bound=names, suites=suites):
                yield from names
                for suite in suites:
                    yield from suite.bound
                    yield from _bound_by_statements(suite.body)
            case Assign(targets=targets):
                for target in targets:
                    yield from _bound_by_target(target)
            case _:
                yield from walruses(statement)


def _bound_by_target(target: Expr) -> Iterator[str]:
    match target:
        case Name(id=name):
            yield name
        case Display(items=items):
            for item in items:
                yield from _bound_by_target(item)
        case Compound(kind="starred", parts=parts):
            for part in parts:
                yield from _bound_by_target(part)
        case _:
            return
