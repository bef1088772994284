"""An annotation without what is wrapped around its type: `Annotated`, `Sensitive`, `Final`, aliases, quotes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowx_compiler.contracts.where import Where
from flowx_compiler.read import read_expression
from flowx_compiler.syntax import Attribute, Constant, Expr, Name, Operation, Subscript

_ANNOTATED = "typing.Annotated"
_FINAL = "typing.Final"
_CLASS_VARIABLE = "typing.ClassVar"
_SENSITIVE = "flowx_runtime.Sensitive"


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A type, and what was around it."""

    expression: Expr
    where: Where
    metadata: tuple[tuple[Expr, Where], ...] = ()
    """From the inside out, as pydantic applies it."""
    is_sensitive: bool = False
    is_final: bool = False
    is_class_variable: bool = False
    refers_to_itself: str = ""
    """The alias whose value needs the alias."""


def unwrapped(expression: Expr, where: Where) -> Unwrapped:
    """Take off what is around a type."""
    found = Unwrapped(expression, where)
    while True:
        inner = _step(found)
        if inner is None:
            return found
        found = inner


def _step(found: Unwrapped) -> Unwrapped | None:
    where = found.where
    match found.expression:
        case Constant(value=str(text)):
            parsed = read_expression(text)
            return None if parsed is None else replace(found, expression=parsed)
        case Subscript(value=value, items=items):
            return _subscript(found, where.qualified(value), items)
        case Name() | Attribute():
            qualified = where.qualified(found.expression)
            if qualified == _CLASS_VARIABLE and not found.is_class_variable:
                return replace(found, is_class_variable=True)
            return None if qualified is None or found.refers_to_itself else _alias(found, qualified)
        case _:
            return None


def _subscript(found: Unwrapped, base: str | None, items: tuple[Expr, ...]) -> Unwrapped | None:
    if not items:
        return None
    if base == _ANNOTATED:
        own = tuple((item, found.where) for item in items[1:])
        return replace(found, expression=items[0], metadata=(*own, *found.metadata))
    if base == _SENSITIVE:
        return replace(found, expression=items[0], is_sensitive=True)
    if base == _FINAL:
        return replace(found, expression=items[0], is_final=True)
    if base == _CLASS_VARIABLE:
        return replace(found, expression=items[0], is_class_variable=True)
    return None


def _alias(found: Unwrapped, qualified: str) -> Unwrapped | None:
    alias = found.where.names.alias_of(qualified)
    if alias is None:
        return None
    home, statement = alias
    if not isinstance(statement.value, Name | Attribute | Subscript | Operation | Constant):
        return None
    if isinstance(statement.value, Constant) and statement.annotation is None and statement.value.value is not None:
        return None  # a text constant is not an alias
    if qualified in found.where.unfolding:
        return replace(found, refers_to_itself=qualified)
    where = replace(found.where, module=home, owner="", variables={}, unfolding=found.where.unfolding | {qualified})
    assert statement.value is not None, "an alias has a value"
    return replace(found, expression=statement.value, where=where)
