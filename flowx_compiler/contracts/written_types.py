"""A resolved type, written again as the annotation it came from: what is derived is derived from annotations."""

from __future__ import annotations

from flowx_compiler.model import TypeExpr
from flowx_compiler.syntax import Compound, Constant, Expr, Name, Operation, Span, Subscript

_NOWHERE = Span(1, 1, 1, 1)


def as_written(type_: TypeExpr) -> Expr:
    """The annotation; names in it are qualified."""
    match type_.name:
        case "None":
            return Constant(None, _NOWHERE)
        case "...":
            return Compound("ellipsis", (), (), _NOWHERE)
        case "|":
            first, *rest = map(as_written, type_.arguments)
            for operand in rest:
                first = Operation("binary", ("|",), (first, operand), _NOWHERE)
            return first
        case "typing.Literal":
            values = tuple(
                Constant(value, _NOWHERE) for value in type_.literals if isinstance(value, str | bytes | int | float)
            )
            return Subscript(Name("typing.Literal", _NOWHERE), values, _NOWHERE)
        case "typing.Annotated":
            # The limits are gone: what is left would be a guess.
            return Name("?", _NOWHERE)
        case name:
            plain = Name(name, _NOWHERE)
            return Subscript(plain, tuple(map(as_written, type_.arguments)), _NOWHERE) if type_.arguments else plain
