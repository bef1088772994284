"""Unions of models that one member tells apart: which value of it means which model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flowx_compiler.contracts.constraints import optional
from flowx_compiler.contracts.enumerations import literal_values
from flowx_compiler.contracts.shape import Shape, opaque
from flowx_compiler.contracts.unions import Tagged, tagged_union
from flowx_compiler.contracts.unwrap import Unwrapped, unwrapped
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Constant, Expr, Operation, Subscript

_UNIONS = frozenset({"typing.Union", "typing.Optional"})
_LITERAL = "typing.Literal"


@dataclass(frozen=True, slots=True)
class Tag:
    """A member of a model by which the model is told from others."""

    annotation: Expr
    where: Where
    published: str
    """The name it has on the wire."""


TagOf = Callable[[str, str], Tag | None]
"""The member of a model, by the model's qualified name and the member's."""


def told_apart(found: Unwrapped, member: str, shape_of: Callable[[Expr | None, Where], Shape], tag_of: TagOf) -> Shape:
    """The shape of a union that `member` tells apart."""
    parts = list(_alternatives(found.expression, found.where))
    models = [(part, where) for part, where in parts if not _is_none(part)]
    tagged: list[Tagged] = []
    is_sensitive = False
    for part, where in models:
        shape = shape_of(part, where)
        alternative = _tagged(part, where, member, shape, tag_of)
        if alternative is None:
            return opaque(f"the values of `{member}` that tell its alternatives apart are not all constants")
        is_sensitive |= shape.is_sensitive
        tagged.append(alternative)
    made = tagged_union(tagged) if tagged else None
    if made is None:
        return opaque(f"its alternatives do not all publish `{member}` under one name")
    whole = optional(made) if len(models) < len(parts) else made
    return Shape(whole.schema, whole.kind, whole.inner, is_sensitive)


def _alternatives(expression: Expr, where: Where) -> Iterator[tuple[Expr, Where]]:
    """The members of a union, through unions and aliases of unions that have no metadata of their own."""
    found = unwrapped(expression, where)
    if found.metadata:
        yield expression, where
        return
    match found.expression:
        case Operation(kind="binary", operators=("|",), operands=operands):
            for operand in operands:
                yield from _alternatives(operand, found.where)
        case Subscript(value=value, items=items) if (name := found.where.qualified(value)) in _UNIONS:
            for item in items:
                yield from _alternatives(item, found.where)
            if name == "typing.Optional":
                yield Constant(None, found.expression.span), found.where
        case _:
            yield found.expression, found.where


def _is_none(expression: Expr) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def _tagged(part: Expr, where: Where, member: str, shape: Shape, tag_of: TagOf) -> Tagged | None:
    """One alternative with its tags: a model, or a union of models that have the member too."""
    tags: list[str] = []
    names: set[str] = set()
    found = unwrapped(part, where)
    for model, home in _alternatives(found.expression, found.where):
        qualified = home.qualified(model.value if isinstance(model, Subscript) else model)
        tag = None if qualified is None else tag_of(qualified, member)
        values = None if tag is None else _values(tag)
        if tag is None or values is None:
            return None
        names.add(tag.published)
        tags += [_text(value) for value in values]
    return Tagged(tuple(tags), shape.schema, names.pop()) if len(names) == 1 else None


def _values(tag: Tag) -> tuple[object, ...] | None:
    found = unwrapped(tag.annotation, tag.where)
    if not isinstance(found.expression, Subscript) or found.where.qualified(found.expression.value) != _LITERAL:
        return None
    values = literal_values(found.expression.items, found.where)
    return None if isinstance(values, Shape) else values


def _text(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
