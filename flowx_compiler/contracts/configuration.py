"""What a model's configuration says of its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flowx_compiler.contracts.alias_names import MAKERS
from flowx_compiler.contracts.constants import constant
from flowx_compiler.contracts.field_call import only_annotates
from flowx_compiler.contracts.where import NO_RULES, TextRules, Where
from flowx_compiler.syntax import Call, Constant, Display, Expr

Settings = Mapping[str, tuple[Expr, Where]]
"""Configuration as it is written, by key; a later one goes over an earlier one."""
_SILENT = frozenset(
    (
        *("title", "frozen", "populate_by_name", "validate_by_name", "serialize_by_alias", "loc_by_alias"),
        *("use_enum_values", "validate_assignment", "arbitrary_types_allowed", "from_attributes", "strict"),
        *("str_strip_whitespace", "str_to_lower", "str_to_upper", "str_ascii_only", "allow_inf_nan"),
        *("revalidate_instances", "ser_json_timedelta", "ser_json_temporal", "ser_json_inf_nan", "val_json_bytes"),
        *("val_temporal_unit", "validate_default", "validate_return", "protected_namespaces", "hide_input_in_errors"),
        *("defer_build", "plugin_settings", "coerce_numbers_to_str", "regex_engine", "validation_error_cause"),
        *("use_attribute_docstrings", "cache_strings", "model_title_generator", "field_title_generator"),
        *("polymorphic_serialization",),
        *("json_schema_serialization_defaults_required", "ignored_types", "url_preserve_empty_path", "json_encoders"),
    )
)  # fmt: skip
"""Keys that say nothing of what a model accepts on the wire."""
_GENERATORS = "pydantic.alias_generators."


@dataclass(frozen=True, slots=True)
class Configuration:
    """A model's configuration, read."""

    extra: str = "ignore"
    by_alias: bool = True
    alias_generator: tuple[Expr, Where] | None = None
    texts: TextRules = NO_RULES
    opaque: str = ""
    """Why the model cannot be derived."""


def read_configuration(settings: Settings) -> Configuration:
    """What the settings of a model say."""
    values = {key: constant(*written) for key, written in settings.items()}
    unknown = next((key for key in sorted(settings) if key not in _SILENT | _READ), None)
    if unknown is not None:
        return Configuration(opaque=f"`{unknown}` in its configuration is not known to the compiler")
    for key in ("schema_generator", "json_schema_mode_override"):
        if values.get(key) is not None:
            return Configuration(opaque=f"`{key}` in its configuration makes its schema")
    if "json_schema_extra" in settings and not only_annotates(settings["json_schema_extra"][0]):
        return Configuration(opaque="`json_schema_extra` changes its schema")
    extra = values.get("extra") or "ignore"
    lengths = [values.get("str_min_length"), values.get("str_max_length")]
    by_alias = values.get("validate_by_alias", True)
    if extra not in ("ignore", "forbid", "allow") or not isinstance(by_alias, bool):
        return Configuration(opaque="`extra` or `validate_by_alias` in its configuration is not a constant")
    if not all(isinstance(length, int | None) for length in lengths):
        return Configuration(opaque="the text lengths in its configuration are not constants")
    shortest, longest = lengths
    return Configuration(
        extra=str(extra),
        by_alias=by_alias,
        alias_generator=None if values.get("alias_generator", 0) is None else settings.get("alias_generator"),
        texts=TextRules(
            shortest if isinstance(shortest, int) else None,
            longest if isinstance(longest, int) else None,
            "base64url" if values.get("ser_json_bytes") == "base64" else "binary",
        ),
    )


_READ = frozenset(
    (
        *("extra", "alias_generator", "str_min_length", "str_max_length", "ser_json_bytes", "validate_by_alias"),
        *("json_schema_extra", "schema_generator", "json_schema_mode_override"),
    )
)


def written_settings(value: Expr | None, where: Where) -> Settings | None:
    """The settings in `ConfigDict(…)` or a dict display; `None` where they are not written out."""
    found: dict[str, tuple[Expr, Where]] = {}
    match value:
        case Call(function=function, arguments=arguments) if (where.qualified(function) or "").rpartition(".")[2] in (
            "ConfigDict",
            "dict",
        ):
            for argument in arguments:
                if argument.keyword is None:
                    return None
                found[argument.keyword] = (argument.value, where)
        case Display(kind="dict", items=items):
            for key, given in zip(items[::2], items[1::2], strict=True):
                if not isinstance(key, Constant) or not isinstance(key.value, str):
                    return None
                found[key.value] = (given, where)
        case _:
            return None
    return found


def alias_maker(written: tuple[Expr, Where]) -> Callable[[str], str] | None:
    """What an alias generator does; `None` where it is code that the compiler does not know."""
    expression, where = written
    if isinstance(expression, Call):
        if (where.qualified(expression.function) or "").rpartition(".")[2] != "AliasGenerator":
            return None
        given = {argument.keyword: argument.value for argument in expression.arguments}
        chosen = given.get("validation_alias") or given.get("alias")
        return None if chosen is None or None in given else alias_maker((chosen, where))
    qualified = where.qualified(expression) or ""
    return MAKERS.get(qualified.removeprefix(_GENERATORS)) if qualified.startswith(_GENERATORS) else None
