"""The type of an expression inside a data function, as far as annotations tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flowx_compiler.link.contracts import contract
from flowx_compiler.link.project import Project
from flowx_compiler.link.types import BOOL, NONE, UNKNOWN, element, plain, union
from flowx_compiler.model import TypeExpr
from flowx_compiler.syntax import (
    Attribute,
    Call,
    Class,
    Compound,
    Constant,
    Display,
    Expr,
    Function,
    Name,
    Operation,
    Subscript,
)

CONTEXT = "flowx_runtime.FlowContext"
_CONTEXT_MEMBERS = {"utc_now": TypeExpr("datetime.datetime"), "error": TypeExpr("flowx_runtime.ErrorView")}
_ITERATOR = "collections.abc.Iterator"
_SEQUENCE_COPIES = frozenset({"builtins.list", "builtins.tuple", "builtins.sorted"})


@dataclass(frozen=True, slots=True)
class TypeReader:
    """Reads expressions of one module, below one context parameter."""

    project: Project
    module: str
    parameter: str
    input: TypeExpr
    bound: Mapping[str, TypeExpr] = field(default_factory=dict)
    """Names that a comprehension around the expression binds."""

    def type_of(self, expression: Expr) -> TypeExpr:
        """The expression's type; `?` where annotations do not tell."""
        match expression:
            case Constant(value=None):
                return NONE
            case Constant(value=value):
                return TypeExpr(f"builtins.{type(value).__name__}")
            case Name(id=name) if name in self.bound:
                return self.bound[name]
            case Name(id=name) if name == self.parameter:
                return TypeExpr(CONTEXT, (self.input,))
            case Attribute():
                return self._attribute(expression)
            case Call():
                return self._call(expression)
            case Operation(kind="compare" | "not"):
                return BOOL
            case Operation(kind="and" | "or", operands=operands):
                types = {self.type_of(operand) for operand in operands if not _is_empty(operand)}
                return types.pop() if len(types) == 1 else UNKNOWN
            case Operation(kind="conditional", operands=(then, _, otherwise)):
                arms = [self.type_of(arm) for arm in (then, otherwise) if not _is_empty(arm)]
                return union(*arms) if arms else UNKNOWN
            case Subscript(value=value, items=(item,)):
                holder = self.type_of(value)
                is_slice = type(item).__name__ == "Compound"
                return holder if is_slice and element(holder) != UNKNOWN else element(holder)
            case Display(kind="tuple" | "list", items=items) if items:
                types = {self.type_of(item) for item in items}
                kind = f"builtins.{expression.kind}"
                if len(types) != 1 or UNKNOWN in types:
                    return UNKNOWN
                return TypeExpr(kind, (types.pop(), *((TypeExpr("..."),) if expression.kind == "tuple" else ())))
            case Compound(kind="list_comprehension"):
                return TypeExpr("builtins.list", (self._produced(expression),))
            case Compound(kind="generator"):
                return TypeExpr(_ITERATOR, (self._produced(expression),))
            case _:
                return UNKNOWN

    def _produced(self, comprehension: Compound) -> TypeExpr:
        """The type of a comprehension's elements; its names are known where it has one clause with one name."""
        *clauses, produced = comprehension.parts
        iterated = [part for part in clauses if not (isinstance(part, Compound) and part.kind == "condition")]
        bound = dict.fromkeys(comprehension.bound, UNKNOWN)
        if len(iterated) == 1 and len(bound) == 1:
            bound = dict.fromkeys(bound, plain(element(self.type_of(iterated[0]))))
        return replace(self, bound={**self.bound, **bound}).type_of(produced)

    def _attribute(self, expression: Attribute) -> TypeExpr:
        holder = plain(self.type_of(expression.value))
        if holder.name == CONTEXT:
            return self.input if expression.attr == "input" else _CONTEXT_MEMBERS.get(expression.attr, UNKNOWN)
        found = contract(self.project, holder.name)
        if found is not None:
            for member in found.members:
                if member.name == expression.attr and member.kind != "method":
                    return plain(member.type)
            return UNKNOWN
        owner = self.project.names.resolve_expression(self.module, expression.value)
        if owner is not None:
            from flowx_compiler.link.contracts import enumeration

            enum = enumeration(self.project, owner)
            if enum is not None and expression.attr in enum.members:
                return TypeExpr(owner)
        return UNKNOWN

    def _call(self, expression: Call) -> TypeExpr:
        function = expression.function
        if isinstance(function, Attribute):
            holder = plain(self.type_of(function.value))
            if holder.name == CONTEXT:
                return self._context_call(function.attr, expression)
            found = contract(self.project, holder.name)
            if found is not None:
                for member in found.members:
                    if member.name == function.attr and member.kind == "method":
                        return plain(member.type)
                return holder if function.attr in ("model_copy", "copy") else UNKNOWN
        qualified = self.project.names.resolve_expression(self.module, function)
        if qualified is None:
            return UNKNOWN
        if qualified in ("builtins.isinstance", "builtins.any", "builtins.all", "builtins.bool", "builtins.callable"):
            return BOOL
        if qualified in ("builtins.str", "builtins.int", "builtins.float", "builtins.len"):
            return TypeExpr("builtins.int" if qualified == "builtins.len" else qualified)
        if qualified in _SEQUENCE_COPIES and expression.arguments:
            given = self.type_of(expression.arguments[0].value)
            item = given.arguments[0] if given.name == _ITERATOR else element(given)
            return UNKNOWN if item == UNKNOWN else TypeExpr("builtins.list", (item,))
        definition = self.project.names.definition(qualified)
        match definition:
            case (_, Class()):
                return TypeExpr(qualified)
            case (home, Function(is_async=False) as target):
                return plain(self.project.types.resolve(home, target.returns))
            case _:
                return UNKNOWN

    def _context_call(self, method: str, call: Call) -> TypeExpr:
        if not call.arguments:
            return UNKNOWN
        asked = self.project.types.resolve(self.module, call.arguments[0].value)
        match method:
            case "get":
                return asked
            case "find":
                return union(asked, NONE)
            case "results":
                return TypeExpr("collections.abc.Sequence", (asked,))
            case _:
                return UNKNOWN


def _is_empty(expression: Expr) -> bool:
    """`()` and `[]`: sequences of whatever the other arm is one of."""
    return isinstance(expression, Display) and expression.kind in ("tuple", "list") and not expression.items
