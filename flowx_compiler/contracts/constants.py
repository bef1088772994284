"""What a value in an annotation or a `Field(…)` is: literals, named constants, arithmetic on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Call, Constant, Expr, Operation


class NotConstant:
    """The answer where an expression is not a constant."""


NOT_CONSTANT: Final = NotConstant()
_MOST_HOPS = 8
"""A constant that names itself, by whatever road, has no value."""
_LARGEST_POWER = 64
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "**": operator.pow,
    "//": operator.floordiv,
    "/": operator.truediv,
}


def followed(expression: Expr, where: Where) -> tuple[Expr, Where]:
    """What a name was assigned at module level, and where that is written; the expression itself if it is none."""
    for _ in range(_MOST_HOPS):
        qualified = where.qualified(expression)
        found = None if qualified is None else where.names.alias_of(qualified)
        if found is None or found[1].value is None:
            break
        expression, where = found[1].value, Where(where.names, found[0])
    return expression, where


def constant(expression: Expr, where: Where) -> object:
    """The value of an expression; `NOT_CONSTANT` where it cannot be told. A `Decimal(…)` is its number."""
    expression, where = followed(expression, where)
    match expression:
        case Constant(value=value):
            return value
        case Call(function=function, arguments=(only,)) if where.qualified(function) == "decimal.Decimal":
            return _number(constant(only.value, where))
        case Call(function=function, arguments=(only,)) if where.qualified(function) == "re.compile":
            return constant(only.value, where)
        case Call(function=function, arguments=(only,)) if where.qualified(function) == "builtins.float":
            return _number(constant(only.value, where))
        case Operation(kind="binary", operators=(sign,), operands=(left, right)):
            return _calculated(sign, constant(left, where), constant(right, where))
        case _:
            return NOT_CONSTANT


def _number(value: object) -> object:
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            return NOT_CONSTANT
    return NOT_CONSTANT


def _calculated(sign: str, left: object, right: object) -> object:
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if not isinstance(left, int | float) or not isinstance(right, int | float) or sign not in _ARITHMETIC:
        return NOT_CONSTANT
    if sign == "**" and abs(right) > _LARGEST_POWER:
        return NOT_CONSTANT
    try:
        return _ARITHMETIC[sign](left, right)
    except (ArithmeticError, ValueError):
        return NOT_CONSTANT
