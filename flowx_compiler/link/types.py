"""Annotations to resolved type expressions, and the few questions asked of them."""

from __future__ import annotations

from flowx_compiler.link.names import Names
from flowx_compiler.model import TypeExpr
from flowx_compiler.read import read_expression
from flowx_compiler.syntax import Assign, Attribute, Compound, Constant, Display, Expr, Name, Operation, Subscript

UNKNOWN = TypeExpr("?")
NONE = TypeExpr("None")
BOOL = TypeExpr("builtins.bool")
SEQUENCES = frozenset(
    {"builtins.list", "builtins.tuple", "collections.abc.Sequence", "typing.Sequence", "builtins.str", "builtins.bytes"}
)
_OLD_SPELLINGS = {
    "typing.List": "builtins.list",
    "typing.Dict": "builtins.dict",
    "typing.Set": "builtins.set",
    "typing.FrozenSet": "builtins.frozenset",
    "typing.Tuple": "builtins.tuple",
    "typing.Type": "builtins.type",
    "typing.Sequence": "collections.abc.Sequence",
    "typing.Mapping": "collections.abc.Mapping",
}
_ANNOTATED = frozenset({"typing.Annotated", "typing_extensions.Annotated"})
_SENSITIVE = "flowx_runtime.Sensitive"


class Types:
    """Resolves annotations."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._unfolding: set[str] = set()
        """Aliases on the way down: one that names itself stays a name."""

    def resolve(self, module: str, annotation: Expr | None) -> TypeExpr:
        """The type an annotation names, through aliases of types; `?` where it cannot be told."""
        match annotation:
            case None:
                return UNKNOWN
            case Constant(value=None):
                return NONE
            case Constant(value=str(text)):
                parsed = read_expression(text)
                return UNKNOWN if parsed is None else self.resolve(module, parsed)
            case Compound(kind="ellipsis"):
                return TypeExpr("...")
            case Operation(kind="binary", operators=("|",), operands=operands):
                return union(*(self.resolve(module, operand) for operand in operands))
            case Subscript():
                return self._subscript(module, annotation)
            case Display(items=items):
                return TypeExpr("[]", tuple(self.resolve(module, item) for item in items))
            case _:
                qualified = self._names.resolve_expression(module, annotation)
                if qualified is None:
                    return UNKNOWN
                return self._unaliased(_OLD_SPELLINGS.get(qualified, qualified))

    def _unaliased(self, qualified: str) -> TypeExpr:
        """The type that a name stands for, where a module of the project says `Name = type`."""
        found = self._names.definition(qualified)
        if qualified in self._unfolding or found is None:
            return TypeExpr(qualified)
        home, statement = found
        if not isinstance(statement, Assign):
            return TypeExpr(qualified)
        is_constant = len(self._names.scope(home).bindings[qualified.rpartition(".")[2]]) == 1
        is_type = isinstance(statement.value, Name | Attribute | Subscript | Operation)
        if not is_constant or not is_type or statement.augmented:
            return TypeExpr(qualified)
        self._unfolding.add(qualified)
        meant = self.resolve(home, statement.value)
        self._unfolding.discard(qualified)
        return TypeExpr(qualified) if meant == UNKNOWN else meant

    def _subscript(self, module: str, annotation: Subscript) -> TypeExpr:
        base = self.resolve(module, annotation.value)
        if base.name == "typing.Literal":
            values = tuple(item.value for item in annotation.items if isinstance(item, Constant))
            return TypeExpr("typing.Literal", literals=values)
        arguments = tuple(self.resolve(module, item) for item in annotation.items)
        match base.name:
            case "typing.Optional":
                return union(*arguments, NONE)
            case "typing.Union":
                return union(*arguments)
            case name if name in _ANNOTATED:
                return TypeExpr("typing.Annotated", arguments[:1])
            case "?":
                return UNKNOWN
            case name:
                return TypeExpr(name, arguments)


def union(*members: TypeExpr) -> TypeExpr:
    """A union, flat."""
    flat: list[TypeExpr] = []
    for member in members:
        for part in member.arguments if member.name == "|" else (member,):
            if part not in flat:
                flat.append(part)
    return flat[0] if len(flat) == 1 else TypeExpr("|", tuple(flat))


def plain(type_: TypeExpr) -> TypeExpr:
    """The type without what annotates it: `Annotated[int, …]` and `Sensitive[int]` are `int`."""
    while type_.name in ("typing.Annotated", _SENSITIVE) and type_.arguments:
        type_ = type_.arguments[0]
    return type_


def is_sensitive(type_: TypeExpr) -> bool:
    """Whether a member of this type is marked `Sensitive`, at any depth."""
    return type_.name == _SENSITIVE or any(is_sensitive(argument) for argument in type_.arguments)


def element(type_: TypeExpr) -> TypeExpr:
    """The element type of a materialised sequence; `?` for anything else."""
    type_ = plain(type_)
    if type_.name == "builtins.tuple":
        if len(type_.arguments) == 2 and type_.arguments[1].name == "...":
            return type_.arguments[0]
        if type_.arguments and len(set(type_.arguments)) == 1:
            return type_.arguments[0]
        return UNKNOWN
    if type_.name in SEQUENCES and len(type_.arguments) == 1:
        return type_.arguments[0]
    return UNKNOWN
