"""Type variables, what they stand for, and how a parametrised contract is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b

from flowx_compiler.contracts.shape import ANYTHING, Shape, target
from flowx_compiler.contracts.unions import union
from flowx_compiler.contracts.where import Given, Where
from flowx_compiler.syntax import Attribute, Call, Class, Display, Expr, Name, Subscript, walk

GENERIC = frozenset({"typing.Generic", "typing.Protocol"})
_VARIABLE = "typing.TypeVar"
_NEW_TYPE = "typing.NewType"
_ALIAS_TYPE = "typing.TypeAliasType"
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

ShapeOf = Callable[[Expr | None, Where], Shape]


def is_variable(qualified: str, where: Where) -> bool:
    """Whether a qualified name is a type variable."""
    alias = where.names.alias_of(qualified)
    if alias is None or not isinstance(alias[1].value, Call):
        return False
    return Where(where.names, alias[0]).qualified(alias[1].value.function) == _VARIABLE


def variables_in(expression: Expr, where: Where) -> list[str]:
    """The type variables in an expression, by qualified name, in order of appearance."""
    found: dict[str, None] = {}
    for node in walk(expression):
        if isinstance(node, Name | Attribute):
            qualified = where.qualified(node)
            if qualified is not None and is_variable(qualified, where):
                found[qualified] = None
    return list(found)


def parameters(qualified: str, syntax: Class, where: Where) -> list[str]:
    """The type variables of a class: those of `Generic[…]`, or those of its bases as they appear."""
    if syntax.type_parameters:
        return [f"{qualified}.{parameter.name}" for parameter in syntax.type_parameters]
    found: dict[str, None] = {}
    for base in syntax.bases:
        if base.keyword is None and isinstance(base.value, Subscript):
            variables = variables_in(base.value, where)
            if where.qualified(base.value.value) in GENERIC:
                return variables
            found |= dict.fromkeys(variables)
    return list(found)


def variable(call: Call, where: Where, shape_of: ShapeOf) -> Shape | None:
    """What a type variable stands for while nothing is given for it; `None` for another call."""
    if where.qualified(call.function) != _VARIABLE:
        return None
    given = {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
    choices = [argument.value for argument in call.arguments if argument.keyword is None][1:]
    for keyword in ("default", "bound"):
        if keyword in given:
            return shape_of(given[keyword], where)
    return union([shape_of(choice, where) for choice in choices]) if choices else ANYTHING


def open_parameter(qualified: str, where: Where, shape_of: ShapeOf) -> Shape | None:
    """What the `T` of `class Page[T]` stands for while nothing is given for it; `None` for any other name."""
    owner, _, name = qualified.rpartition(".")
    found = where.names.class_of(owner) if "." in owner else None
    parameter = None if found is None else where.names.type_parameter(owner, name)
    if found is None or parameter is None:
        return None
    home = Where(where.names, found[0], owner=owner, texts=where.texts)
    bound = parameter.default or parameter.bound
    if isinstance(bound, Display):
        return union([shape_of(choice, home) for choice in bound.items])
    return ANYTHING if bound is None else shape_of(bound, home)


def renamed(call: Call, where: Where) -> Expr | None:
    """The type that a `NewType` or a `TypeAliasType` is another name of; `None` for another call."""
    if where.qualified(call.function) not in (_NEW_TYPE, _ALIAS_TYPE) or len(call.arguments) != 2:
        return None
    return call.arguments[1].value


def bound_to(names: Sequence[str], arguments: Sequence[Given]) -> dict[str, Given] | None:
    """Type variables with what is given for them; `None` where there are more or fewer."""
    return dict(zip(names, arguments, strict=True)) if len(names) == len(arguments) else None


def parametrised_name(qualified: str, arguments: Sequence[Given]) -> str:
    """`shop.Page[shop.Order]`: made of the shapes, so that one name never stands for two."""
    return f"{qualified}[{','.join(_name(argument.shape) for argument in arguments)}]"


def _name(shape: Shape) -> str:
    name = _schema_name(shape.schema)
    return f"Sensitive-{name}" if shape.is_sensitive else name


def _schema_name(schema: dict[str, object]) -> str:
    referred = target(schema)
    if referred is not None and len(schema) == 1:
        return referred
    match schema:
        case {"type": str(type_)} if len(schema) == 1 and type_ in _NAMES:
            return _NAMES[type_]
        case {"type": "string", "format": str(format_)} if len(schema) == 2:
            return format_
        case {"type": "array", "items": dict(items)} if len(schema) == 2:
            return f"list[{_schema_name(items)}]"
        case _:
            pass
    if not schema:
        return "Any"
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    return f"shape-{blake2b(text.encode(), digest_size=4).hexdigest()}"
