"""Tells contracts whose values surely come back from JSON as they were, so that nobody has to look each time.

Decided once per contract, from its pydantic core schema: only what is listed here, nothing of the author's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaError, SchemaValidator, ValidationError

from flowx_runtime.engine.comparison import difference

_SCALARS: Final = frozenset({"str", "int", "bool", "none", "uuid", "date", "decimal", "bytes", "literal"})
"""Not here: floats (JSON has no infinity), instants (an offset may have seconds), unions (another arm may match)."""
_CHANGING: Final = frozenset({"strip_whitespace", "to_lower", "to_upper", "regex_engine", "allow_inf_nan"})
_CONFIGURATION: Final = frozenset(
    {
        "title",
        "extra_fields_behavior",
        "frozen",
        "strict",
        "from_attributes",
        "hide_input_in_errors",
        "str_min_length",
        "str_max_length",
        "validate_default",
        "validate_by_name",
    }
)
_ONLY_LIMITS: Final = frozenset(
    {"strict", "min_length", "max_length", "pattern", "gt", "ge", "lt", "le", "multiple_of"}
)


@dataclass(frozen=True, slots=True)
class _NotPlain(Exception):  # it carries a finding; nobody outside this module meets it
    kind: str


class PlainContracts:
    """Remembers which contracts are plain."""

    def __init__(self) -> None:
        self._models: dict[Any, tuple[type[BaseModel], ...] | None] = {}

    def is_plain(self, contract: Any, value: object) -> bool:
        """Whether this value of a contract needs no look: it is of the very class, and its members can be no others."""
        try:
            models = self._models[contract]
        except KeyError:
            models = self._models[contract] = models_in_plain(contract)
        except TypeError:  # an annotation with metadata that has no hash
            return False
        # A member may hold a subclass of what is declared, which has members of its own.
        return models is not None and type(value) is contract and not any(map(_has_subclasses, models))


def models_in_plain(contract: Any) -> tuple[type[BaseModel], ...] | None:
    """The models inside a plain contract; `None` for one that is not plain."""
    if not (isinstance(contract, type) and issubclass(contract, BaseModel)):
        return None
    found: set[type[BaseModel]] = set()
    try:
        _walk(TypeAdapter(contract).core_schema, found)
    except (_NotPlain, KeyError):
        return None
    return tuple(found - {contract})


def _has_subclasses(model: type[BaseModel]) -> bool:
    return bool(model.__subclasses__())


def _walk(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    kind = schema["type"]
    if "serialization" in schema:
        raise _NotPlain(kind)
    if kind in _SCALARS:
        if kind == "literal":
            _demand(all(type(each) in (str, int, bool, type(None)) for each in schema["expected"]), kind)
            _demand(len({str(each) for each in schema["expected"]}) == len(schema["expected"]), kind)
        _demand(not (_CHANGING & schema.keys()), kind)
        return
    if kind not in _KINDS:
        raise _NotPlain(kind)
    _KINDS[kind](schema, found)


def _demand(holds: object, kind: str) -> None:
    if not holds:
        raise _NotPlain(kind)


def _model(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    is_of_pydantic = schema.get("post_init") is None and not schema.get("custom_init")
    _demand(is_of_pydantic and schema.get("config", {}).keys() <= _CONFIGURATION, "model")
    _demand(schema.get("config", {}).get("extra_fields_behavior") != "allow", "model")
    found.add(schema["cls"])
    _walk(schema["schema"], found)


def _fields(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    _demand(not schema.get("computed_fields") and "extras_schema" not in schema, "model-fields")
    for field in schema["fields"].values():
        names = field.get("validation_alias"), field.get("serialization_alias")
        _demand(names[0] == names[1] and isinstance(names[0], str | None), "model-field")
        _demand(not any(key.startswith("serialization_exclude") for key in field), "model-field")
        _walk(field["schema"], found)


def _default(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    _walk(schema["schema"], found)
    if "default_factory" in schema:
        factory = schema["default_factory"]
        _demand(factory in (list, dict, tuple, set, frozenset), "default")
        default = factory()
    else:
        default = schema["default"]
    # pydantic does not look at a default, so it may be none of what it stands for.
    try:
        taken = SchemaValidator(schema["schema"]).validate_python(default)
    except (ValidationError, SchemaError) as error:
        raise _NotPlain("default") from error
    _demand(difference(default, taken) is None, "default")


def _enum(schema: Mapping[str, Any], _: set[type[BaseModel]]) -> None:
    values = [member.value for member in schema["members"]]
    _demand("missing" not in schema and all(type(value) in (str, int) for value in values), "enum")
    _demand(len({str(value) for value in values}) == len(values), "enum")


def _inner(*keys: str) -> Callable[[Mapping[str, Any], set[type[BaseModel]]], None]:
    def walk(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
        for key in keys:
            _walk(schema[key], found)

    return walk


def _tuple(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    for item in schema["items_schema"]:
        _walk(item, found)


def _dict(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    keys = schema["keys_schema"]
    _demand(keys["type"] == "str" and keys.keys() - {"type", "metadata"} <= _ONLY_LIMITS, "dict")
    _walk(schema["values_schema"], found)


def _definitions(schema: Mapping[str, Any], found: set[type[BaseModel]]) -> None:
    for each in schema["definitions"]:
        _walk(each, found)
    _walk(schema["schema"], found)


def _reference(_: Mapping[str, Any], __: set[type[BaseModel]]) -> None:
    """What it refers to is walked where it is defined."""


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any], set[type[BaseModel]]], None]]] = {
    "model": _model,
    "model-fields": _fields,
    "default": _default,
    "enum": _enum,
    "nullable": _inner("schema"),
    "list": _inner("items_schema"),
    "set": _inner("items_schema"),
    "frozenset": _inner("items_schema"),
    "tuple": _tuple,
    "dict": _dict,
    "definitions": _definitions,
    "definition-ref": _reference,
}
