"""Enumerations and `Literal`: listed by the values that go over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping

from flowx_compiler.contracts.constants import NOT_CONSTANT, constant
from flowx_compiler.contracts.metadata import has_hook, name_of
from flowx_compiler.contracts.shape import Kind, Shape, opaque
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Assign, Attribute, Block, Call, Class, Constant, Expr, Function, Name

_MIXINS: Mapping[str, type | None] = {
    "enum.Enum": None,
    "enum.StrEnum": str,
    "enum.IntEnum": int,
    "enum.ReprEnum": None,
    "builtins.str": str,
    "builtins.int": int,
    "builtins.float": float,
}
_ROOTS = frozenset({"enum.Enum", "enum.StrEnum", "enum.IntEnum", "enum.ReprEnum", "enum.Flag", "enum.IntFlag"})
_AUTO = "enum.auto"
_VALUE_MAKERS = frozenset({"__new__", "__init__", "_generate_next_value_"})


def is_enumeration(where: Where, qualified: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a class of the project is an enumeration."""
    found = where.names.class_of(qualified)
    if found is None or qualified in seen:
        return False
    bases = [Where(where.names, found[0]).qualified(base.value) for base in found[1].bases if base.keyword is None]
    return any(
        base is not None and (base in _ROOTS or is_enumeration(where, base, seen | {qualified})) for base in bases
    )


def enumeration(where: Where, qualified: str) -> Shape:
    """The shape of an enumeration: its values, sorted."""
    values = member_values(where, qualified)
    if isinstance(values, str):
        return opaque(values)
    return listed(tuple(values.values()))


def member_values(where: Where, qualified: str) -> dict[str, object] | str:
    """The value of every member by name, or why they cannot be told."""
    found = where.names.class_of(qualified)
    if found is None:
        return f"{name_of(qualified)} is not part of the project"
    module, syntax = found
    home = Where(where.names, module)
    mixin, reason = _mixin(home, syntax, frozenset({qualified}))
    is_named = _is_named_by_auto(home, syntax)
    if reason or any(isinstance(item, Function) and item.name in _VALUE_MAKERS for item in syntax.body):
        return reason or f"code makes the values of {name_of(qualified)}"
    values: dict[str, object] = {}
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name),), value=given, augmented=False) if (
                given is not None and not name.startswith("_")
            ):
                value = _value(name, given, home, values, mixin, is_named=is_named)
                if value is NOT_CONSTANT:
                    return f"the value of {name_of(qualified)}.{name} is not a constant"
                values[name] = value
            case Assign(value=None) | Assign(targets=(Name(),)):
                pass
            case Assign() | Block():
                return f"members of {name_of(qualified)} are not written one by one"
            case _:
                pass
    return values


def _mixin(where: Where, syntax: Class, seen: frozenset[str]) -> tuple[type | None, str]:
    """The type that every value is made into, or why it cannot be told."""
    found: type | None = None
    if has_hook(syntax):
        return None, f"{syntax.name} makes its own schema"
    for base in syntax.bases:
        if base.keyword is not None:
            return None, f"{syntax.name} is given arguments where it is defined"
        name = where.qualified(base.value)
        if name is not None and name in _MIXINS:
            found = found or _MIXINS[name]
            continue
        below = None if name is None or name in seen else where.names.class_of(name)
        if below is None or name is None:
            return None, f"a base class of {syntax.name} is not part of the project, or makes flags"
        if any(isinstance(item, Function) and item.name in _VALUE_MAKERS for item in below[1].body):
            return None, f"code makes the values of {syntax.name}"
        inherited, reason = _mixin(Where(where.names, below[0]), below[1], seen | {name})
        if reason:
            return None, reason
        found = found or inherited
    return found, ""


def _value(
    name: str, expression: Expr, where: Where, before: Mapping[str, object], mixin: type | None, *, is_named: bool
) -> object:
    if isinstance(expression, Call) and where.qualified(expression.function) == _AUTO and not expression.arguments:
        return name.lower() if is_named else _next(before, mixin)
    value = constant(expression, where)
    if mixin is None:
        return value if isinstance(value, str | int | float) else NOT_CONSTANT
    if mixin is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if type(value) is mixin else NOT_CONSTANT


def _is_named_by_auto(where: Where, syntax: Class) -> bool:
    """Whether `auto()` gives the member's name in lower case, as a `StrEnum` has it."""
    names = [where.qualified(base.value) for base in syntax.bases if base.keyword is None]
    for name in names:
        if name == "enum.StrEnum":
            return True
        found = None if name is None else where.names.class_of(name)
        if found is not None and found[1] is not syntax and _is_named_by_auto(Where(where.names, found[0]), found[1]):
            return True
    return False


def _next(before: Mapping[str, object], mixin: type | None) -> object:
    """What `auto()` gives where members are numbered: one more than the largest before."""
    if mixin not in (None, int):
        return NOT_CONSTANT
    numbers = [value for value in before.values() if isinstance(value, int)]
    if len(numbers) < len(before):
        return NOT_CONSTANT
    return max(numbers, default=0) + 1


def literal(items: tuple[Expr, ...], where: Where) -> Shape:
    """The shape of a `Literal`: its values, sorted."""
    values = literal_values(items, where)
    return values if isinstance(values, Shape) else listed(values)


def literal_values(items: tuple[Expr, ...], where: Where) -> tuple[object, ...] | Shape:
    """The values of a `Literal`; a member of an enumeration stands for its value."""
    values: list[object] = []
    for item in items:
        match item:
            case Constant(value=str() | int() | None as value):
                values.append(value)
            case Attribute(value=owner, attr=name):
                qualified = where.qualified(owner)
                members = None if qualified is None else member_values(where, qualified)
                if not isinstance(members, dict) or name not in members:
                    return opaque("a value of its `Literal` is not a constant")
                values.append(members[name])
            case _:
                return opaque("a value of its `Literal` is not a constant")
    return tuple(values)


def listed(values: tuple[object, ...]) -> Shape:
    """One of some values, in an order that does not depend on how they are written."""
    texts = {json.dumps(value): value for value in values}
    schema: dict[str, object] = {"enum": [texts[text] for text in sorted(texts)]}
    types = {type(value) for value in texts.values()}
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if len(types) == 1 and (only := types.pop()) in names:
        schema["type"] = names[only]
    return Shape(schema, Kind.OTHER)
