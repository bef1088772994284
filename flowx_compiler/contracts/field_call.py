"""What a `Field(…)` call says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowx_compiler.contracts.constants import NOT_CONSTANT, constant
from flowx_compiler.contracts.constraints import KNOWN
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Call, Compound, Constant, Display, Expr

FIELDS = frozenset({"pydantic.Field", "pydantic.fields.Field"})
_ALIAS_CHOICES = frozenset({"pydantic.AliasChoices", "pydantic.aliases.AliasChoices"})
_ALIAS_PATH = frozenset({"pydantic.AliasPath", "pydantic.aliases.AliasPath"})
_SILENT = frozenset(
    (
        *("title", "description", "examples", "deprecated", "field_title_generator", "frozen", "repr", "exclude"),
        *("exclude_if", "strict", "coerce_numbers_to_str", "allow_inf_nan", "max_digits", "decimal_places"),
        *("union_mode", "fail_fast", "validate_default", "kw_only", "init_var"),
    )
)
"""Arguments that say nothing of what goes over the wire."""
_ANNOTATIONS = frozenset({"title", "description", "examples", "example", "deprecated", "$comment"})
"""Words of JSON Schema that say nothing of shape."""


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What one or several `Field(…)` calls say of one member; a later one goes over an earlier one."""

    has_default: bool = False
    alias: str | None = None
    validation_alias: str | None = None
    is_written_under_an_alias: bool = False
    """Whether it has a `serialization_alias`."""
    constraints: tuple[tuple[str, object], ...] = ()
    discriminator: str | None = None
    opaque: str = ""
    """Why the member cannot be derived."""
    unreadable: str = ""
    """Why not even the member's name or presence can be told."""

    def followed_by(self, later: FieldFacts) -> FieldFacts:
        """Both, with what the later one says going first."""
        return FieldFacts(
            has_default=self.has_default or later.has_default,
            alias=later.alias or self.alias,
            validation_alias=later.validation_alias or self.validation_alias,
            is_written_under_an_alias=self.is_written_under_an_alias or later.is_written_under_an_alias,
            constraints=(*self.constraints, *later.constraints),
            discriminator=later.discriminator or self.discriminator,
            opaque=self.opaque or later.opaque,
            unreadable=self.unreadable or later.unreadable,
        )


def read_field(call: Call, where: Where) -> FieldFacts:
    """The facts of a `Field(…)` call."""
    facts = FieldFacts()
    for position, argument in enumerate(call.arguments):
        if argument.star or (argument.keyword is None and position):
            return replace(facts, unreadable="its `Field(…)` is given arguments that are not written out")
        facts = _with(facts, argument.keyword or "default", argument.value, where)
    return facts


def _with(facts: FieldFacts, keyword: str, value: Expr, where: Where) -> FieldFacts:
    match keyword:
        case "default":
            is_ellipsis = isinstance(value, Compound) and value.kind == "ellipsis"
            return replace(facts, has_default=facts.has_default or not is_ellipsis)
        case "default_factory":
            is_none = isinstance(value, Constant) and value.value is None
            return replace(facts, has_default=facts.has_default or not is_none)
        case "alias" | "validation_alias":
            name = _alias(value, where)
            if name is NOT_CONSTANT or not isinstance(name, str | None):
                return replace(facts, unreadable=f"its `{keyword}` is not a constant text")
            return replace(facts, alias=name) if keyword == "alias" else replace(facts, validation_alias=name)
        case "serialization_alias":
            is_none = isinstance(value, Constant) and value.value is None
            return replace(facts, is_written_under_an_alias=not is_none)
        case "discriminator":
            name = constant(value, where)
            if isinstance(name, str):
                return replace(facts, discriminator=name)
            return replace(facts, opaque="code decides which alternative of it is meant")
        case "json_schema_extra":
            return facts if only_annotates(value) else replace(facts, opaque="`json_schema_extra` changes its schema")
        case "pattern" | "regex":
            return replace(facts, constraints=(*facts.constraints, ("pattern", constant(value, where))))
        case _ if keyword in KNOWN:
            return replace(facts, constraints=(*facts.constraints, (keyword, constant(value, where))))
        case _ if keyword in _SILENT:
            return facts
        case _:
            return replace(facts, opaque=f"`{keyword}` of its `Field(…)` is not known to the compiler")


def _alias(value: Expr, where: Where) -> object:
    """The name under which a member is published; of several choices pydantic publishes the first that is one name."""
    if not isinstance(value, Call):
        return constant(value, where)
    function = where.qualified(value.function)
    names = [argument.value for argument in value.arguments]
    if function in _ALIAS_CHOICES:
        found = [_alias(name, where) for name in names]
        if NOT_CONSTANT in found:
            return NOT_CONSTANT
        return next((name for name in found if name), "")
    if function in _ALIAS_PATH:
        return constant(names[0], where) if len(names) == 1 else ""
    return NOT_CONSTANT


def only_annotates(value: Expr) -> bool:
    """Whether additions to a schema are a dict of words that say nothing of shape."""
    match value:
        case Constant(value=None):
            return True
        case Display(kind="dict", items=items):
            return all(isinstance(key, Constant) and key.value in _ANNOTATIONS for key in items[::2])
        case _:
            return False
