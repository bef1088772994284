"""The code in the declaration of a contract's member: its default, and what checks or writes its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from flowx_compiler.model import Program
from flowx_compiler.syntax import Assign, Attribute, Call, Compound, Expr, Name, walk

Piece: TypeAlias = tuple[str, str, Expr]
"""The module it is written in, what it is for, and the code."""

_FIELDS = frozenset({"pydantic.Field", "pydantic.fields.Field", "pydantic.PrivateAttr"})
_KEYWORDS = frozenset(
    {"alias", "coerce_numbers_to_str", "default", "default_factory", "exclude", "exclude_if", "serialization_alias"}
    | {"strict", "union_mode", "validate_default", "validation_alias"}
)
"""What a field's call says beyond the shape of its values and words about it."""
_CODE = ("Discriminator", "Serializer", "Validator")
"""How the names of metadata end that is given code."""


def field_code(program: Program, module: str, annotation: Expr, value: Expr | None) -> Iterator[Piece]:
    """Every piece. The shape of the values is no code: it is in the contract's schema.

    Args:
        program: says what names mean.
        module: where the member is written.
        annotation: its type.
        value: what is assigned to it, if anything.
    """
    yield from _annotated(program, module, annotation, ())
    if value is not None:
        yield from _given(program, module, value)


def _given(program: Program, module: str, value: Expr) -> Iterator[Piece]:
    if isinstance(value, Call) and meaning_of(program, module, value.function) in _FIELDS:
        yield from _of_call(module, value)
    elif not _is_ellipsis(value):
        yield module, "default", value


def _of_call(module: str, call: Call) -> Iterator[Piece]:
    for argument in call.arguments:
        label = argument.keyword or "default"
        if label in _KEYWORDS and not _is_ellipsis(argument.value):
            yield module, label, argument.value


def _annotated(program: Program, module: str, annotation: Expr, seen: tuple[str, ...]) -> Iterator[Piece]:
    """The code in metadata, in order; an alias is looked through."""
    assert program.lookup is not None, "a linked program can be asked what a name means"
    for node in walk(annotation):
        if isinstance(node, Call):
            name = meaning_of(program, module, node.function) or ""
            if name in _FIELDS:
                yield from _of_call(module, node)
            elif name.endswith(_CODE) or program.lookup.definition(name) is not None:
                yield module, "metadata", node
        elif isinstance(node, Name | Attribute):
            alias = meaning_of(program, module, node)
            found = None if alias is None or alias in seen else program.lookup.definition(alias)
            if alias is not None and found is not None and isinstance(found[1], Assign) and found[1].value is not None:
                yield from _annotated(program, found[0], found[1].value, (*seen, alias))


def meaning_of(program: Program, module: str, expression: Expr) -> str | None:
    """The qualified name of what an expression names; `None` where it is none or unknown."""
    assert program.lookup is not None, "a linked program can be asked what a name means"
    return program.lookup.resolve_expression(module, expression)


def _is_ellipsis(value: Expr) -> bool:
    """`...` stands for no default."""
    return isinstance(value, Compound) and value.kind == "ellipsis"
