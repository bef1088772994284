"""Lists, tuples, sets and mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowx_compiler.contracts.shape import ANYTHING, OPAQUE, Kind, Schema, Shape

_OLD: Mapping[str, str] = {
    "typing.List": "builtins.list",
    "typing.Dict": "builtins.dict",
    "typing.Set": "builtins.set",
    "typing.FrozenSet": "builtins.frozenset",
    "typing.Tuple": "builtins.tuple",
    "typing.Deque": "collections.deque",
    "typing.DefaultDict": "collections.defaultdict",
    "typing.OrderedDict": "collections.OrderedDict",
    "typing.AbstractSet": "collections.abc.Set",
    **{
        f"typing.{name}": f"collections.abc.{name}"
        for name in ("Sequence", "MutableSequence", "MutableSet", "Mapping", "MutableMapping", "Iterable")
    },
}
_LISTS = frozenset(
    {
        "builtins.list",
        "collections.deque",
        *(f"collections.abc.{name}" for name in ("Sequence", "MutableSequence", "Iterable")),
    }
)
_SETS = frozenset({"builtins.set", "builtins.frozenset", "collections.abc.Set", "collections.abc.MutableSet"})
_MAPPINGS = frozenset(
    {
        *("builtins.dict", "collections.defaultdict", "collections.OrderedDict"),
        *("collections.abc.Mapping", "collections.abc.MutableMapping"),
    }
)
_KEY_WORDS = frozenset({"type", "enum", "format", "minLength", "maxLength", "pattern"})


def modern(name: str) -> str:
    """One name for a collection type that has two."""
    return _OLD.get(name, name)


def collection(name: str, arguments: Sequence[Shape], *, is_open_ended: bool = False) -> Shape | None:
    """The shape of a collection; `None` for what is none, or has a number of arguments that is wrong.

    Args:
        name: qualified, as `modern` gives it.
        arguments: of its elements; empty where it is not subscripted.
        is_open_ended: whether a tuple ends in `...`.
    """
    made = _collection(name, arguments, is_open_ended=is_open_ended)
    is_sensitive = any(argument.is_sensitive for argument in arguments)
    return replace(made, is_sensitive=True) if made is not None and is_sensitive else made


def _collection(name: str, arguments: Sequence[Shape], *, is_open_ended: bool) -> Shape | None:
    if name in _LISTS and len(arguments) <= 1:
        return Shape({"type": "array", "items": _element(arguments)}, Kind.LIST)
    if name in _SETS and len(arguments) <= 1:
        return Shape({"type": "array", "items": _element(arguments), "uniqueItems": True}, Kind.LIST)
    if name in _MAPPINGS and len(arguments) in (0, 2):
        return _mapping(*arguments) if arguments else _mapping(ANYTHING, ANYTHING)
    if name == "builtins.tuple":
        if is_open_ended or not arguments:
            return Shape({"type": "array", "items": _element(arguments)}, Kind.LIST)
        return record(arguments, required=len(arguments))
    return None


def record(elements: Sequence[Shape], required: int) -> Shape:
    """A list with a type for each place, of which the last ones may be missing."""
    schema: Schema = {"type": "array", "prefixItems": [element.schema for element in elements]}
    return Shape({**schema, "minItems": required, "maxItems": len(elements)})


EMPTY_TUPLE = Shape({"type": "array", "minItems": 0, "maxItems": 0})


def is_collection(name: str) -> bool:
    """Whether a qualified name is a collection type."""
    return name == "builtins.tuple" or name in _LISTS | _SETS | _MAPPINGS


def _element(arguments: Sequence[Shape]) -> Schema:
    return arguments[0].schema if arguments else {}


def _mapping(key: Shape, value: Shape) -> Shape:
    """A mapping; what is said of its keys is said of names of members, and keys that are no text say nothing."""
    schema: Schema = {"type": "object"}
    keys = dict(key.schema)
    is_text = keys.get("type") == "string" and keys.keys() <= _KEY_WORDS
    pattern = keys.pop("pattern", None) if is_text else None
    if pattern is not None:
        schema["patternProperties"] = {pattern: value.schema}
    else:
        schema["additionalProperties"] = value.schema or True
    if OPAQUE in keys or (is_text and len(keys) > 1):
        schema["propertyNames"] = {word: said for word, said in keys.items() if word != "type"}
    return Shape(schema, Kind.DICT)
