"""One member of a model: the name it is published under, whether it must be there, and its shape."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from flowx_compiler.contracts.annotations import Annotations
from flowx_compiler.contracts.bodies import Declared
from flowx_compiler.contracts.configuration import Configuration, alias_maker
from flowx_compiler.contracts.constants import followed
from flowx_compiler.contracts.field_call import FIELDS, FieldFacts, read_field
from flowx_compiler.contracts.metadata import read_metadata
from flowx_compiler.contracts.shape import SENSITIVE, Schema, Shape, opaque
from flowx_compiler.contracts.unwrap import Unwrapped, unwrapped
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Call, Compound, Expr, Function

_ROOTS_OF_VALUES = sys.stdlib_module_names | {"builtins", "flowx_runtime"}
_FIELD_INFOS = ("pydantic.fields.FieldInfo", "builtins.object")
_DATACLASS_FIELD = "dataclasses.field"


@dataclass(frozen=True, slots=True)
class PublishedMember:
    """A member as it is on the wire."""

    name: str
    is_required: bool
    shape: Shape

    @property
    def schema(self) -> Schema:
        """Its schema, marked where something in it is."""
        schema = self.shape.schema
        return {**schema, SENSITIVE: True} if self.shape.is_sensitive else schema


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not even the name or the presence of a member can be told, which leaves the whole model opaque."""

    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """A member taken apart."""

    declared: Declared
    found: Unwrapped
    facts: FieldFacts

    def name(self, configuration: Configuration) -> str | None:
        """The published name; `None` where code makes it."""
        member = self.declared.name
        if not configuration.by_alias:
            return member
        given = self.facts.alias if self.facts.validation_alias is None else self.facts.validation_alias
        if given is not None:
            return given or member
        generator = configuration.alias_generator
        if generator is not None and self.facts.is_written_under_an_alias:
            generator = self.declared.maker or generator
        if generator is None:
            return member
        make = alias_maker(generator)
        return None if make is None else make(member)


def written(declared: Declared, where: Where | None = None) -> Written:
    """A member with what its metadata and its value say."""
    found = unwrapped(declared.annotation, declared.where if where is None else where)
    facts = FieldFacts()
    for item, home in found.metadata:
        facts = facts.followed_by(read_metadata(item, home))
    if declared.value is not None:
        facts = facts.followed_by(_value(declared.value, declared.where))
    return Written(declared, found, facts)


def published_member(
    declared: Declared, configuration: Configuration, annotations: Annotations, reason: str
) -> PublishedMember | Unreadable | None:
    """A member as it is published; `None` for a class variable.

    Args:
        declared: as it is written.
        configuration: of the model.
        annotations: derives types.
        reason: why validators or serializers leave it opaque; empty if they do not.
    """
    where = declared.where
    parts = written(
        declared, where if configuration.texts == where.texts else replace(where, texts=configuration.texts)
    )
    facts, found = parts.facts, parts.found
    if found.is_class_variable or (found.is_final and facts.has_default):
        return None
    if facts.unreadable:
        return Unreadable(f"{declared.name}: {facts.unreadable}")
    name = parts.name(configuration)
    if name is None:
        return Unreadable(f"code makes the name under which {declared.name} is published")
    shape = annotations.of(found, facts)
    if reason:
        shape = replace(opaque(reason), is_sensitive=shape.is_sensitive)
    return PublishedMember(name, not facts.has_default, shape)


def object_schema(members: Mapping[str, PublishedMember]) -> Schema:
    """An object with these members."""
    schema: Schema = {"type": "object", "properties": {member.name: member.schema for member in members.values()}}
    required = sorted(member.name for member in members.values() if member.is_required)
    return {**schema, "required": required} if required else schema


def _value(value: Expr, where: Where) -> FieldFacts:
    """What stands behind the `=` of a member: a `Field(…)`, or a default."""
    if isinstance(value, Compound) and value.kind == "ellipsis":
        return FieldFacts()
    target, home = followed(value, where)
    if not isinstance(target, Call):
        return FieldFacts(has_default=True)
    function = home.qualified(target.function)
    if function in FIELDS:
        return read_field(target, home)
    if function == _DATACLASS_FIELD:
        given = {argument.keyword for argument in target.arguments}
        return FieldFacts(has_default=bool(given & {"default", "default_factory"}))
    if function is None:
        return FieldFacts(unreadable="a call of unknown effect is its value")
    is_value = function.partition(".")[0] in _ROOTS_OF_VALUES or _gives_a_value(function, where)
    return FieldFacts(has_default=True) if is_value else FieldFacts(unreadable="a call of unknown effect is its value")


def _gives_a_value(function: str, where: Where) -> bool:
    """Whether a call surely gives a value: of a class, of a method of one, or of a function that names its result.

    A function that says `Any`, or nothing, may be one that makes a `Field(…)`.
    """
    owner = function.rpartition(".")[0]
    if where.names.class_of(function) is not None or where.names.class_of(owner) is not None:
        return True
    found = where.names.definition(function)
    if found is None or not isinstance(found[1], Function) or found[1].returns is None:
        return False
    return Where(where.names, found[0]).qualified(found[1].returns) not in (None, "typing.Any", *_FIELD_INFOS)
