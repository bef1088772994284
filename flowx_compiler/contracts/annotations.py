"""Annotations to shapes: the one place that looks at what kind of type is written, and asks who knows that kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from flowx_compiler.contracts import collections, generics, limited_calls
from flowx_compiler.contracts.constraints import constrained
from flowx_compiler.contracts.discriminators import TagOf, told_apart
from flowx_compiler.contracts.enumerations import enumeration, is_enumeration, literal
from flowx_compiler.contracts.field_call import FieldFacts
from flowx_compiler.contracts.metadata import has_hook, name_of, read_metadata
from flowx_compiler.contracts.scalars import scalar
from flowx_compiler.contracts.shape import Shape, opaque
from flowx_compiler.contracts.unions import union
from flowx_compiler.contracts.unwrap import Unwrapped, unwrapped
from flowx_compiler.contracts.where import NO_RULES, Given, Where
from flowx_compiler.syntax import Assign, Attribute, Call, Class, Compound, Constant, Expr, Name, Operation, Subscript

_OPTIONAL = "typing.Optional"
_UNION = frozenset({"typing.Union", "types.UnionType"})
_LITERAL = "typing.Literal"
_PRESENCE = frozenset({"typing.Required", "typing.NotRequired", "typing.ReadOnly"})
_ROOT_MODELS = frozenset({"pydantic.RootModel", "pydantic.root_model.RootModel"})
_BY_CODE = {
    "pydantic.Json": "it is JSON inside a text",
    "pydantic.types.Json": "it is JSON inside a text",
    "pydantic.SerializeAsAny": "what it holds decides how it is written",
    "pydantic.functional_serializers.SerializeAsAny": "what it holds decides how it is written",
}


@dataclass(frozen=True, slots=True)
class Annotations:
    """Derives shapes of annotations."""

    refer: Callable[[str, Sequence[Given] | None, Where], Shape | None]
    """The reference to a class that is published as a contract of its own; `None` for a class that is not."""
    tag_of: TagOf

    def shape(self, expression: Expr | None, where: Where) -> Shape:
        """The shape of an annotation."""
        if expression is None:
            return opaque("it has no type")
        found = unwrapped(expression, where)
        facts = FieldFacts()
        for item, home in found.metadata:
            facts = facts.followed_by(read_metadata(item, home))
        return self.of(found, facts)

    def of(self, found: Unwrapped, facts: FieldFacts) -> Shape:
        """The shape of an annotation that was taken apart.

        Args:
            found: the type and what is around it.
            facts: what its metadata, and the value beside it, say.
        """
        if found.refers_to_itself:
            return opaque(f"the alias {name_of(found.refers_to_itself)} is made of itself")
        if facts.opaque:
            shape = opaque(facts.opaque)
        elif facts.discriminator is not None:
            shape = told_apart(found, facts.discriminator, self.shape, self.tag_of)
        else:
            shape = self._bare(found.expression, found.where)
        limited = reduce(lambda so_far, limit: constrained(so_far, *limit), facts.constraints, shape)
        return replace(limited, is_sensitive=True) if found.is_sensitive else limited

    def _bare(self, expression: Expr, where: Where) -> Shape:
        match expression:
            case Constant(value=None):
                return self._named("None", where)
            case Operation(kind="binary", operators=("|",)):
                return union([self.shape(part, where) for part in alternatives(expression)])
            case Subscript():
                return self._subscript(expression, where)
            case Call():
                limited = limited_calls.limited(expression, where, self.shape)
                return limited or opaque("its type is made by a call")
            case Name() | Attribute():
                qualified = where.qualified(expression)
                if qualified is None:
                    return opaque("its type is not a name the compiler can follow")
                return self._named(qualified, where)
            case _:
                return opaque("what stands there is not a type")

    def _named(self, qualified: str, where: Where) -> Shape:
        if qualified in where.variables:
            given = where.variables[qualified]
            if where.texts == NO_RULES:
                return given.shape
            return self.shape(given.expression, replace(given.where, texts=where.texts))
        known = scalar(qualified, where.texts)
        if known is not None:
            return known
        made = collections.collection(collections.modern(qualified), ())
        if made is not None:
            return made
        alias = where.names.alias_of(qualified)
        if alias is not None:
            return self._made(qualified, *alias, where)
        parameter = generics.open_parameter(qualified, where, self.shape)
        if parameter is not None:
            return parameter
        if is_enumeration(where, qualified):
            return enumeration(where, qualified)
        return self._published(qualified, None, where)

    def _published(self, qualified: str, arguments: Sequence[Given] | None, where: Where) -> Shape:
        published = self.refer(qualified, arguments, where)
        if published is not None:
            return published
        short = name_of(qualified)
        if qualified in _BY_CODE:
            return opaque(_BY_CODE[qualified])
        found = where.names.class_of(qualified)
        if found is not None:
            if has_hook(found[1]):
                return opaque(f"{short} makes its own schema")
            return opaque(f"{short} is a class that is neither a model nor a record")
        definition = where.names.definition(qualified)
        if definition is not None and isinstance(definition[1], Class | Assign):
            return opaque(f"what {short} means is decided when the program runs")
        return opaque(f"{short} is not part of the project")

    def _made(self, qualified: str, home: str, statement: Assign, where: Where) -> Shape:
        """What a call at module level makes: a type variable that stands for nothing yet, a `NewType`, an alias."""
        there = replace(where, module=home, owner="", variables={}, unfolding=where.unfolding | {qualified})
        if qualified in where.unfolding:
            return opaque(f"the alias {name_of(qualified)} is made of itself")
        if not isinstance(statement.value, Call):
            return opaque(f"{name_of(qualified)} is not a type")
        variable = generics.variable(statement.value, there, self.shape)
        if variable is not None:
            return variable
        base = generics.renamed(statement.value, there)
        if base is not None:
            return self.shape(base, there)
        limited = limited_calls.limited(statement.value, there, self.shape)
        return limited or opaque(f"{name_of(qualified)} is made by a call")

    def _subscript(self, expression: Subscript, where: Where) -> Shape:
        base = where.qualified(expression.value)
        items = expression.items
        if base is None:
            return opaque("its type is not a name the compiler can follow")
        if base == _OPTIONAL:
            return union([*(self.shape(item, where) for item in items), self._named("None", where)])
        if base in _UNION:
            return union([self.shape(item, where) for item in items])
        if base == _LITERAL:
            return literal(items, where)
        if base in _PRESENCE or base in _ROOT_MODELS:
            return self.shape(items[0], where)
        if collections.is_collection(collections.modern(base)):
            return self._collection(collections.modern(base), items, where)
        if scalar(base, where.texts) is not None:
            return self._named(base, where)  # `re.Pattern[str]`
        alias = where.names.alias_of(base)
        if alias is not None:
            return self._parametrised_alias(base, *alias, items, where)
        return self._published(base, self.given(items, where), where)

    def _collection(self, name: str, items: tuple[Expr, ...], where: Where) -> Shape:
        if name == "builtins.tuple" and len(items) == 1 and _is_empty(items[0]):
            return collections.EMPTY_TUPLE
        is_open_ended = len(items) == 2 and isinstance(items[1], Compound) and items[1].kind == "ellipsis"
        elements = items[:1] if is_open_ended else items
        made = collections.collection(name, [self.shape(item, where) for item in elements], is_open_ended=is_open_ended)
        return made or opaque("it is subscripted with a number of types that its type does not take")

    def _parametrised_alias(
        self, qualified: str, home: str, statement: Assign, items: tuple[Expr, ...], where: Where
    ) -> Shape:
        if qualified in where.unfolding or statement.value is None:
            return opaque(f"the alias {name_of(qualified)} is made of itself")
        there = replace(where, module=home, owner="", variables={}, unfolding=where.unfolding | {qualified})
        parameters = generics.variables_in(statement.value, there)
        if len(parameters) != len(items):
            return opaque(f"the type parameters of {name_of(qualified)} cannot be told")
        variables = dict(zip(parameters, self.given(items, where), strict=True))
        return self.shape(statement.value, replace(there, variables=variables))

    def given(self, items: Sequence[Expr], where: Where) -> list[Given]:
        """What is given for type variables."""
        outside = where if where.texts == NO_RULES else replace(where, texts=NO_RULES)
        return [Given(item, outside, self.shape(item, outside)) for item in items]


def alternatives(expression: Expr) -> list[Expr]:
    """The operands of `a | b | c`."""
    found: list[Expr] = []
    while isinstance(expression, Operation) and expression.operators == ("|",):
        found[:0] = expression.operands[1:]
        expression = expression.operands[0]
    return [expression, *found]


def _is_empty(item: Expr) -> bool:
    return getattr(item, "kind", "") == "tuple" and not getattr(item, "items", True)
