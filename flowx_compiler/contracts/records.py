"""Typed dictionaries, named tuples and dataclasses: records that are no models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from flowx_compiler.contracts import generics
from flowx_compiler.contracts.annotations import Annotations
from flowx_compiler.contracts.bodies import Declared
from flowx_compiler.contracts.collections import record
from flowx_compiler.contracts.configuration import Configuration
from flowx_compiler.contracts.constants import constant
from flowx_compiler.contracts.members import PublishedMember, Unreadable, object_schema, published_member
from flowx_compiler.contracts.metadata import has_hook
from flowx_compiler.contracts.shape import OPAQUE, Schema, Shape
from flowx_compiler.contracts.validators import NO_VERDICTS, Verdicts, judged_assignment, judged_function
from flowx_compiler.contracts.where import Given, Where
from flowx_compiler.syntax import Assign, Call, Class, Expr, Function, Name, Subscript

_DATACLASSES = frozenset({"dataclasses.dataclass", "pydantic.dataclasses.dataclass"})
_TYPED_DICT = "typing.TypedDict"
_NAMED_TUPLE = "typing.NamedTuple"
_BARE = frozenset({_TYPED_DICT, _NAMED_TUPLE, "builtins.object", "abc.ABC"})
_REQUIRED = "typing.Required"
_NOT_REQUIRED = "typing.NotRequired"
_READ_ONLY = "typing.ReadOnly"
_INERT = frozenset({"frozen", "slots", "kw_only", "order", "eq", "repr", "unsafe_hash", "init", "match_args"})


class RecordKind(Enum):
    """What a record is."""

    TYPED_DICT = "typed dictionary"
    NAMED_TUPLE = "named tuple"
    DATACLASS = "dataclass"


def record_kind(where: Where, qualified: str, seen: frozenset[str] = frozenset()) -> RecordKind | None:
    """The kind of a class of the project; `None` if it is no record."""
    found = where.names.class_of(qualified)
    if found is None or qualified in seen:
        return None
    home = Where(where.names, found[0])
    for decorator in found[1].decorators:
        if home.qualified(decorator.function if isinstance(decorator, Call) else decorator) in _DATACLASSES:
            return RecordKind.DATACLASS
    for base in found[1].bases:
        value = base.value.value if isinstance(base.value, Subscript) else base.value
        name = home.qualified(value) if base.keyword is None else None
        if name == _TYPED_DICT:
            return RecordKind.TYPED_DICT
        if name == _NAMED_TUPLE:
            return RecordKind.NAMED_TUPLE
        inherited = None if name is None else record_kind(where, name, seen | {qualified})
        if inherited is RecordKind.TYPED_DICT:
            return inherited
    return None


@dataclass(frozen=True, slots=True)
class _Members:
    members: dict[str, Declared]
    optional: frozenset[str] = frozenset()
    """Keys that a typed dictionary may lack."""
    verdicts: Verdicts = NO_VERDICTS
    opaque: str = ""


def record_schema(
    where: Where, qualified: str, variables: dict[str, Given], kind: RecordKind, annotations: Annotations
) -> Schema:
    """The schema of a record."""
    found = _members(where, qualified, variables, kind, annotations.given)
    if found.opaque or found.verdicts.whole:
        return {OPAQUE: found.opaque or found.verdicts.whole}
    members: dict[str, PublishedMember] = {}
    for name, declared in found.members.items():
        member = published_member(declared, Configuration(), annotations, found.verdicts.of(name))
        if isinstance(member, Unreadable):
            return {OPAQUE: member.reason}
        if member is not None:
            is_required = member.is_required and name not in found.optional
            members[name] = replace(member, is_required=is_required)
    if kind is RecordKind.NAMED_TUPLE:
        listed = [Shape(member.schema) for member in members.values()]
        return record(listed, required=sum(member.is_required for member in members.values())).schema
    return object_schema(members)


def _members(
    where: Where,
    qualified: str,
    variables: dict[str, Given],
    kind: RecordKind,
    given: Callable[[Sequence[Expr], Where], Sequence[Given]],
    seen: frozenset[str] = frozenset(),
) -> _Members:
    found = where.names.class_of(qualified)
    if found is None or qualified in seen:
        return _Members({}, opaque="a base class is not part of the project")
    home = Where(where.names, found[0], owner=qualified, variables=variables)
    syntax = found[1]
    members: dict[str, Declared] = {}
    optional: frozenset[str] = frozenset()
    verdicts, reason = Verdicts(), _opaque_head(syntax, home, kind)
    for base in reversed([base for base in syntax.bases if base.keyword is None]):
        subscript = base.value if isinstance(base.value, Subscript) else None
        name = home.qualified(base.value if subscript is None else subscript.value)
        if name in _BARE | generics.GENERIC:
            continue
        if name is None or where.names.class_of(name) is None:
            reason = reason or "a base class is not part of the project"
            continue
        bound = _bound(name, subscript, home, given)
        above = _members(where, name, bound or {}, kind, given, seen | {qualified})
        reason = reason or above.opaque or ("" if bound is not None else "a base class takes another number of types")
        members |= above.members
        optional |= above.optional
        verdicts = verdicts.also(above.verdicts)
    is_total = _is_total(syntax, home)
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name),), annotation=annotation, value=value) if annotation is not None:
                if name.startswith("_") and kind is not RecordKind.TYPED_DICT:
                    continue
                bare, is_required = _presence(annotation, home, is_total=is_total)
                members[name] = Declared(name, bare, value, home)
                optional = optional - {name} if is_required else optional | {name}
                reason = reason or _opaque_value(value, home)
            case Assign(targets=(Name(id="__pydantic_config__"),)):
                reason = reason or "`__pydantic_config__` may change it"
            case Assign(value=value):
                verdicts = verdicts.also(judged_assignment(value, home))
            case Function():
                verdicts = verdicts.also(judged_function(statement, home))
            case _:
                pass
    return _Members(members, optional if kind is RecordKind.TYPED_DICT else frozenset(), verdicts, reason)


def _bound(
    name: str, subscript: Subscript | None, home: Where, given: Callable[[Sequence[Expr], Where], Sequence[Given]]
) -> dict[str, Given] | None:
    if subscript is None:
        return {}
    found = home.names.class_of(name)
    assert found is not None, "asked only for a class of the project"
    names = generics.parameters(name, found[1], Where(home.names, found[0]))
    return generics.bound_to(names, given(subscript.items, home))


def _opaque_head(syntax: Class, home: Where, kind: RecordKind) -> str:
    if has_hook(syntax):
        return "it makes its own schema"
    if kind is not RecordKind.DATACLASS:
        return ""
    for decorator in syntax.decorators:
        call = decorator if isinstance(decorator, Call) else None
        if home.qualified(decorator if call is None else call.function) not in _DATACLASSES:
            return "it is decorated with a call that may change it"
        if call is not None and any(argument.keyword not in _INERT for argument in call.arguments):
            return "the configuration of its dataclass may change it"
    return ""


def _opaque_value(value: Expr | None, home: Where) -> str:
    """`field(init=False)` and `Field(init=False)` keep a member out of what is accepted."""
    if isinstance(value, Call) and (home.qualified(value.function) or "").rpartition(".")[2] in ("field", "Field"):
        for argument in value.arguments:
            if argument.keyword == "init" and constant(argument.value, home) is not True:
                return "one of its members is not given when it is made"
    return ""


def _is_total(syntax: Class, home: Where) -> bool:
    return all(constant(base.value, home) is not False for base in syntax.bases if base.keyword == "total")


def _presence(annotation: Expr, home: Where, *, is_total: bool) -> tuple[Expr, bool]:
    """A key's type without `Required[…]` and `NotRequired[…]`, and whether the key has to be there."""
    is_required = is_total
    while isinstance(annotation, Subscript):
        name = home.qualified(annotation.value)
        if name in (_REQUIRED, _NOT_REQUIRED):
            is_required = name == _REQUIRED
        elif name != _READ_ONLY:
            break
        annotation = annotation.items[0]
    return annotation, is_required
