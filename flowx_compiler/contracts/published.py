"""The contracts that a manifest publishes: each derived when it is asked for, once, with those inside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flowx_compiler.contracts import generics
from flowx_compiler.contracts.annotations import Annotations
from flowx_compiler.contracts.bodies import Bodies
from flowx_compiler.contracts.discriminators import Tag
from flowx_compiler.contracts.models import model_schema, tag_of
from flowx_compiler.contracts.records import record_kind, record_schema
from flowx_compiler.contracts.scalars import scalar
from flowx_compiler.contracts.shape import (
    OPAQUE,
    SENSITIVE,
    Schema,
    Shape,
    is_opaque_somewhere,
    opaque,
    reference,
    references,
    target,
)
from flowx_compiler.contracts.where import Given, Meanings, TextRules, Where
from flowx_compiler.contracts.written_types import as_written
from flowx_compiler.model import Contract, Program, TypeExpr

_DEEPEST = 16
"""So deep may parametrised types be given to each other; a type that is given itself, larger, never ends."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A contract that something refers to."""

    qualified: str
    arguments: tuple[Given, ...] | None
    """What is given for its type variables."""


@dataclass(slots=True)
class Published:
    """The shapes of a program's contracts."""

    program: Program
    names: Meanings = field(init=False)
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _schemas: dict[str, Schema] = field(default_factory=dict)
    _references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _annotations: Annotations = field(init=False)
    _bodies: Bodies = field(init=False)

    def __post_init__(self) -> None:
        assert self.program.lookup is not None, "a linked program can be asked what a name means"
        self.names = Meanings(self.program.lookup)
        self._annotations = Annotations(self._refer, self._tag)
        self._bodies = Bodies(self.names, self._annotations.given)

    @classmethod
    def of(cls, program: Program) -> Published:
        """The shapes of a program: one derivation, whoever asks."""
        return program.once("published contracts", "", lambda: cls(program))

    def name(self, type_: TypeExpr) -> str:
        """The name under which a type in use is published: the class's, with what is given for its type variables."""
        if not type_.arguments:
            return type_.name
        shape = self._annotations.shape(as_written(type_), Where(self.names, ""))
        return target(shape.schema) or type_.name

    def schema(self, name: str) -> Schema:
        """The schema of a contract, by the name it is published under."""
        if name not in self._schemas:
            self._schemas[name] = self._derived(name)
        return self._schemas[name]

    def is_generic(self, name: str) -> bool:
        """Whether a contract has type variables: as such, values are of what it is parametrised to."""
        found = self.names.class_of(name)
        return found is not None and bool(generics.parameters(name, found[1], Where(self.names, found[0])))

    def closure(self, names: Iterable[str]) -> dict[str, Schema]:
        """The schemas of contracts and of those inside them, by name."""
        found: dict[str, Schema] = {}
        open_names = list(names)
        while open_names:
            name = open_names.pop()
            if name not in found:
                found[name] = self.schema(name)
                open_names += self._inside(name)
        return dict(sorted(found.items()))

    def _inside(self, name: str) -> tuple[str, ...]:
        if name not in self._references:
            self._references[name] = tuple(references(self.schema(name)))
        return self._references[name]

    def told(self, names: Iterable[str]) -> dict[str, list[Schema]]:
        """All that is written of contracts and of those inside them.

        That is the schema and, where it leaves something open to code, beside it what the annotations say.
        """
        found: dict[str, list[Schema]] = {}
        open_names = list(names)
        while open_names:
            name = open_names.pop()
            if name not in found:
                found[name] = self._told(name)
                open_names += references(found[name]) if len(found[name]) > 1 else self._inside(name)
        return dict(sorted(found.items()))

    def _told(self, name: str) -> list[Schema]:
        schema = self.schema(name)
        if not is_opaque_somewhere(schema):
            return [schema]
        asked = self._asked.get(name, _Asked(name, None))
        body = self._bodies.body(asked.qualified, asked.arguments)
        return [schema] if body is None else [schema, model_schema(body, self._annotations, despite_code=True)]

    def marked(self, name: str) -> list[str]:
        """The members of a contract that are marked sensitive, as they are published.

        Of an opaque one as they are written: a mark has to be seen in any case.
        """
        schema = self._told(name)[-1]
        contract = self.program.contracts.get(name)
        if OPAQUE in schema and contract is not None:
            return sorted(member.name for member in contract.fields if member.is_sensitive)
        properties = schema.get("properties", {})
        return sorted(member for member, schema in properties.items() if schema.get(SENSITIVE) is True)

    def _derived(self, name: str) -> Schema:
        contract = self.program.contracts.get(name)
        if contract is not None and contract.module == "flowx_runtime":
            return _given(contract)
        asked = self._asked.get(name, _Asked(name, None))
        body = self._bodies.body(asked.qualified, asked.arguments)
        if body is not None:
            return model_schema(body, self._annotations)
        where = Where(self.names, "")
        kind = record_kind(where, asked.qualified)
        if kind is None:
            is_defined = self.names.definition(asked.qualified) is not None
            is_class = self.names.class_of(asked.qualified) is not None
            why = "which class it is gets decided when the program runs" if is_defined and not is_class else None
            return {OPAQUE: why or "it is neither a model nor a record"}
        variables = self._variables(asked)
        if variables is None:
            return {OPAQUE: "it is given another number of types than it takes"}
        return record_schema(where, asked.qualified, variables, kind, self._annotations)

    def _variables(self, asked: _Asked) -> dict[str, Given] | None:
        found = self.names.class_of(asked.qualified)
        if asked.arguments is None or found is None:
            return {}
        names = generics.parameters(asked.qualified, found[1], Where(self.names, found[0]))
        return generics.bound_to(names, asked.arguments)

    def _refer(self, qualified: str, arguments: Sequence[Given] | None, where: Where) -> Shape | None:
        contract = self.program.contracts.get(qualified)
        if contract is not None and contract.module == "flowx_runtime":
            return reference(qualified)
        if where.names.class_of(qualified) is None or not self._is_published(qualified, where):
            return None
        name = qualified if arguments is None else generics.parametrised_name(qualified, arguments)
        if name.count("[") > _DEEPEST:
            return opaque("it is given types that hold itself, without end")
        self._asked.setdefault(name, _Asked(qualified, None if arguments is None else tuple(arguments)))
        return reference(name)

    def _is_published(self, qualified: str, where: Where) -> bool:
        return (
            qualified in self.program.contracts
            or record_kind(where, qualified) is not None
            or self._bodies.is_model(qualified)
        )

    def _tag(self, qualified: str, member: str) -> Tag | None:
        return tag_of(self._bodies.body(qualified, None), member)


def _given(contract: Contract) -> Schema:
    """A contract of the runtime itself, whose source is not the project's."""
    members: Schema = {}
    for member in contract.fields:
        known = scalar(member.type.name, TextRules())
        members[member.name] = {OPAQUE: "its type is the runtime's own"} if known is None else known.schema
    required = sorted(member.name for member in contract.fields if not member.has_default)
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}
