"""What stands behind the type in `Annotated[…]`: limits, `Field(…)`, validators, marks."""

from __future__ import annotations

from collections.abc import Mapping

from flowx_compiler.contracts.constants import constant, followed
from flowx_compiler.contracts.constraints import AFTER_CODE, KNOWN
from flowx_compiler.contracts.field_call import FIELDS, FieldFacts, read_field
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Assign, Call, Class, Constant, Display, Expr, Function, Lambda, Name

HOOKS = frozenset({"__get_pydantic_core_schema__", "__get_pydantic_json_schema__", "__get_validators__"})
"""Methods by which a class makes its own schema."""
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "annotated_types.Gt": ("gt",),
    "annotated_types.Ge": ("ge",),
    "annotated_types.Lt": ("lt",),
    "annotated_types.Le": ("le",),
    "annotated_types.MultipleOf": ("multiple_of",),
    "annotated_types.MinLen": ("min_length",),
    "annotated_types.MaxLen": ("max_length",),
    "annotated_types.Len": ("min_length", "max_length"),
    "annotated_types.Interval": (),
    "pydantic.StringConstraints": (),
    "pydantic.types.StringConstraints": (),
}
"""Positional parameters of what limits a type."""
_SILENT = frozenset({"Strict", "AllowInfNan", "FailFast", "Tag"})
_CODE: Mapping[str, str] = {
    **dict.fromkeys(
        ("BeforeValidator", "PlainValidator", "WrapValidator"), "a validator runs before its type is known"
    ),
    **dict.fromkeys(("PlainSerializer", "WrapSerializer", "SerializeAsAny"), "code decides how it is written"),
    **dict.fromkeys(
        ("WithJsonSchema", "SkipJsonSchema", "GetPydanticSchema", "InstanceOf"), "it brings its own schema"
    ),
    **dict.fromkeys(("SkipValidation", "OnErrorOmit", "ValidateAs"), "pydantic does not check it by its type"),
    **dict.fromkeys(("Base64Encoder", "EncodedBytes", "EncodedStr"), "it is encoded by code"),
}


def read_metadata(expression: Expr, where: Where) -> FieldFacts:
    """What one piece of metadata says of the type before it."""
    expression, where = followed(expression, where)
    function = expression.function if isinstance(expression, Call) else expression
    qualified = where.qualified(function)
    if qualified is None:
        is_inert = isinstance(expression, Constant | Display | Lambda)
        return FieldFacts() if is_inert else FieldFacts(opaque="what annotates it is not known to the compiler")
    if qualified in FIELDS and isinstance(expression, Call):
        return read_field(expression, where)
    if qualified in _PARAMETERS and isinstance(expression, Call):
        return _limits(expression, _PARAMETERS[qualified], where)
    library, _, name = qualified.partition(".")
    if library == "pydantic" and name.rpartition(".")[2] in _SILENT:
        return FieldFacts()
    if library == "annotated_types" or (library == "pydantic" and name.rpartition(".")[2] == "AfterValidator"):
        return FieldFacts(constraints=((AFTER_CODE, None),))
    if library == "pydantic":
        return _pydantic(name.rpartition(".")[2], expression, where)
    found = where.names.class_of(qualified)
    if found is not None:
        return FieldFacts(opaque=f"{name_of(qualified)} makes its own schema") if has_hook(found[1]) else FieldFacts()
    if library in ("typing", "builtins"):
        return FieldFacts()
    return FieldFacts(opaque=f"{name_of(qualified)}, which annotates it, is not part of the project")


def _pydantic(name: str, expression: Expr, where: Where) -> FieldFacts:
    if name == "Discriminator" and isinstance(expression, Call) and expression.arguments:
        by = constant(expression.arguments[0].value, where)
        if isinstance(by, str):
            return FieldFacts(discriminator=by)
        return FieldFacts(opaque="code decides which alternative of it is meant")
    return FieldFacts(opaque=_CODE.get(name, f"{name}, which annotates it, is not known to the compiler"))


def _limits(call: Call, parameters: tuple[str, ...], where: Where) -> FieldFacts:
    limits: list[tuple[str, object]] = []
    for position, argument in enumerate(call.arguments):
        if argument.star or (argument.keyword is None and position >= len(parameters)):
            return FieldFacts(opaque="its limits are not written out")
        keyword = argument.keyword or parameters[position]
        if keyword in KNOWN:
            value = constant(argument.value, where)
            # `Len(0, …)` is no lower limit.
            if not (keyword == "min_length" and value == 0 and parameters[:1] == ("min_length",)):
                limits.append((keyword, value))
    return FieldFacts(constraints=tuple(limits))


def has_hook(syntax: Class) -> bool:
    """Whether a class makes its own schema."""
    for statement in syntax.body:
        match statement:
            case Function(name=name) if name in HOOKS:
                return True
            case Assign(targets=targets) if any(isinstance(target, Name) and target.id in HOOKS for target in targets):
                return True
            case _:
                pass
    return False


def name_of(qualified: str) -> str:
    """The last part of a qualified name, for a sentence."""
    return qualified.rpartition(".")[2]
