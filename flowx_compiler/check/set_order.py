"""Code that depends on the order of a set, which is another one in each process."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.receivers import Receivers
from flowx_compiler.model import Program
from flowx_compiler.syntax import (
    Attribute,
    Block,
    Call,
    Compound,
    Constant,
    Display,
    Expr,
    Name,
    Other,
    Return,
    Span,
    Suite,
    walk,
)

_ORDERED = frozenset({"enumerate", "filter", "iter", "list", "map", "next", "reversed", "tuple", "zip"})
_UNORDERED = frozenset({"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"})
"""What these give is the same in whatever order they are given it."""


def set_orders(program: Program, syntax: object, values: Receivers) -> Iterator[tuple[str, Span]]:
    """Each with how to name it and where it is."""
    found = tuple(nodes(program, syntax))
    exempt = {
        id(argument.value)
        for node in found
        if isinstance(node, Call) and isinstance(node.function, Name) and node.function.id in _UNORDERED
        for argument in node.arguments
    }
    for node in found:
        if id(node) in exempt:
            continue
        match node:
            case Call(function=Name(id=function), arguments=arguments, span=span) if function in _ORDERED:
                if any(_is_unordered(argument.value, values) for argument in arguments):
                    yield f"{function}({_spelt(arguments[-1].value)})", span
            case Call(function=Attribute(attr="join"), arguments=(argument,), span=span):
                if _is_unordered(argument.value, values):
                    yield f"join({_spelt(argument.value)})", span
            case Compound(kind="list_comprehension", parts=parts, span=span) if values.is_set(parts[0]):
                yield f"for … in {_spelt(parts[0])}", span
            case Display(kind="tuple" | "list", items=items, span=span):
                for item in items:
                    if isinstance(item, Compound) and item.kind == "starred" and values.is_set(item.parts[0]):
                        yield f"*{_spelt(item.parts[0])}", span
            case Block(kind="for", expressions=(iterated, *_), suites=(body, *_), span=span):
                if values.is_set(iterated) and _tells_order(body):
                    yield f"for … in {_spelt(iterated)}", span
            case _:
                pass


def _is_unordered(value: Expr, values: Receivers) -> bool:
    if isinstance(value, Compound) and value.kind == "generator":
        return values.is_set(value.parts[0])
    return values.is_set(value)


def _tells_order(body: Suite) -> bool:
    """Whether a loop keeps what it meets, or stops at the first that it likes."""
    for node in walk(body.body):
        match node:
            case Compound(kind="yield" | "yield_from") | Other(kind="break"):
                return True
            case Call(function=Attribute(attr="append" | "extend" | "insert")):
                return True
            case Return(value=value) if value is not None and not isinstance(value, Constant):
                return True
            case _:
                pass
    return False


def _spelt(expression: Expr) -> str:
    match expression:
        case Name(id=name):
            return name
        case Attribute(value=value, attr=attribute):
            return f"{_spelt(value)}.{attribute}"
        case _:
            return "…"
