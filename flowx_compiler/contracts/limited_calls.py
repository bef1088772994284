"""Types that are written as calls: `conint(gt=0)`, `conlist(int, min_length=1)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowx_compiler.contracts.collections import collection
from flowx_compiler.contracts.constants import constant
from flowx_compiler.contracts.constraints import KNOWN, constrained
from flowx_compiler.contracts.scalars import scalar
from flowx_compiler.contracts.shape import Shape, opaque
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Call, Expr

_SCALARS: Mapping[str, str] = {
    "conint": "builtins.int",
    "confloat": "builtins.float",
    "constr": "builtins.str",
    "conbytes": "builtins.bytes",
    "condecimal": "decimal.Decimal",
    "condate": "datetime.date",
}
_COLLECTIONS: Mapping[str, str] = {
    "conlist": "builtins.list",
    "conset": "builtins.set",
    "confrozenset": "builtins.frozenset",
}
_SILENT = frozenset(
    (
        *("strict", "strip_whitespace", "to_lower", "to_upper", "coerce_numbers_to_str", "allow_inf_nan"),
        *("max_digits", "decimal_places", "fail_fast", "ascii_only"),
    )
)


def limited(call: Call, where: Where, shape_of: Callable[[Expr | None, Where], Shape]) -> Shape | None:
    """The shape of a type that is written as a call; `None` for a call of anything else."""
    qualified = where.qualified(call.function) or ""
    name = qualified.removeprefix("pydantic.").removeprefix("types.")
    if not qualified.startswith("pydantic.") or name not in _SCALARS.keys() | _COLLECTIONS.keys():
        return None
    shape = None if name in _COLLECTIONS else scalar(_SCALARS[name], where.texts)
    limits: list[tuple[str, object]] = []
    for position, argument in enumerate(call.arguments):
        if argument.star:
            return opaque("its limits are not written out")
        if name in _COLLECTIONS and (argument.keyword == "item_type" or (argument.keyword is None and not position)):
            shape = collection(_COLLECTIONS[name], [shape_of(argument.value, where)])
        elif argument.keyword in KNOWN:
            limits.append((argument.keyword, constant(argument.value, where)))
        elif argument.keyword not in _SILENT:
            return opaque(f"an argument of `{name}` is not known to the compiler")
    if shape is None:
        return opaque(f"`{name}` is not given a type")
    for constraint, value in limits:
        shape = constrained(shape, constraint, value)
    return shape
