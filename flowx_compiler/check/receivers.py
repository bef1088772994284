"""Of which type a value in a decision's code is, as far as members and annotations tell, and what it reads of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.reads import qualified
from flowx_compiler.model import DataFunction, Flow, Program, TypeExpr
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Block,
    Call,
    Class,
    Compound,
    Display,
    Expr,
    Function,
    Lambda,
    Name,
    Operation,
    Subscript,
)

SETS = frozenset({"builtins.frozenset", "builtins.set", "collections.abc.Set", "typing.AbstractSet"})
_SET = TypeExpr("builtins.frozenset")
_WRAPPED = frozenset({"typing.Annotated", "flowx_runtime.Sensitive"})


@dataclass(frozen=True, slots=True)
class Member:
    """A property or method of a class of the project."""

    name: str
    """Qualified."""
    module: str
    function: Function
    owner: str


@dataclass(frozen=True, slots=True)
class Receivers:
    """The values that one function of the project works with."""

    program: Program
    module: str
    types: Mapping[str, TypeExpr] = field(default_factory=dict)
    """By local name."""
    context: str = ""
    """The parameter that is the flow's context, where there is one."""
    input: TypeExpr | None = None

    @classmethod
    def of_decision(cls, program: Program, flow: Flow, function: DataFunction) -> Receivers:
        """Those of a predicate, selector, map or projection."""
        made = cls(program, function.module, {}, function.parameter, flow.input)
        return made.with_locals(function.syntax)

    def into(self, module: str, function: Function, owner: str | None = None) -> Receivers:
        """Those of a function that is called from here; of a member, with the class it belongs to."""
        types: dict[str, TypeExpr] = {}
        for number, parameter in enumerate(function.parameters):
            if number == 0 and owner is not None:
                types[parameter.name] = TypeExpr(owner)
                continue
            annotation = parameter.annotation
            base = annotation.value if isinstance(annotation, Subscript) else annotation
            name = None if base is None else self._named(module, base)
            if name is not None:
                types[parameter.name] = TypeExpr(name)
        return Receivers(self.program, module, types).with_locals(function)

    def type_of(self, expression: Expr) -> TypeExpr | None:
        """The type of a value; `None` where it cannot be told."""
        match expression:
            case Name(id=name):
                return self.types.get(name)
            case Attribute(value=Name(id=root), attr="input") if root == self.context:
                return self.input
            case Attribute(value=value, attr=attribute):
                return self._member_type(value, attribute)
            case Call(function=Attribute(value=Name(id=root), attr="get"), arguments=(asked, *_)) if (
                root == self.context
            ):
                contract = qualified(self.program, self.module, asked.value)
                return None if contract is None else TypeExpr(contract)
            case Call(function=Attribute(value=value, attr=method)):
                return self._member_type(value, method)
            case Call(function=Name() as function):
                called = self._named(self.module, function)
                return TypeExpr(called) if called in SETS else None
            case Display(kind="set") | Compound(kind="set_comprehension"):
                return _SET
            case Operation(kind="binary", operators=("&" | "|" | "-" | "^",), operands=operands):
                return _SET if any(self.is_set(operand) for operand in operands) else None
            case _:
                return None

    def is_set(self, expression: Expr) -> bool:
        """Whether a value is known to be a set."""
        found = self.type_of(expression)
        return found is not None and found.name in SETS

    def member(self, expression: Attribute) -> Member | None:
        """The property or method that an attribute is; `None` for a field, and where the receiver is not known."""
        holder = self.type_of(expression.value)
        return None if holder is None else self._found(holder.name, expression.attr, ())

    def _found(self, owner: str, name: str, seen: tuple[str, ...]) -> Member | None:
        assert self.program.lookup is not None, "a linked program can be asked what a name means"
        home, syntax = self.program.lookup.definition(owner) or ("", None)
        if not isinstance(syntax, Class) or owner in seen:
            return None
        for statement in syntax.body:
            if isinstance(statement, Function) and statement.name == name:
                return Member(f"{owner}.{name}", home, statement, owner)
            if isinstance(statement, Assign) and any(
                isinstance(target, Name) and target.id == name for target in statement.targets
            ):
                return None
        for base in syntax.bases:
            above = self.program.lookup.resolve_expression(home, base.value) if base.keyword is None else None
            found = None if above is None else self._found(above, name, (*seen, owner))
            if found is not None:
                return found
        return None

    def _member_type(self, holder: Expr, name: str) -> TypeExpr | None:
        type_ = self.type_of(holder)
        contract = None if type_ is None else self.program.contracts.get(type_.name)
        for member in () if contract is None else contract.members:
            if member.name == name:
                return _plain(member.type)
        return None

    def _named(self, module: str, expression: Expr) -> str | None:
        if isinstance(expression, Name) and expression.id in ("set", "frozenset"):
            return f"builtins.{expression.id}"
        return qualified(self.program, module, expression)

    def with_locals(self, syntax: Lambda | Function) -> Receivers:
        """With the names that loops over known values and plain assignments bind."""
        types = dict(self.types)
        known = Receivers(self.program, self.module, types, self.context, self.input)
        for name, value, is_element in _bound(self.program, syntax):
            type_ = known.type_of(value)
            if type_ is not None and is_element:
                type_ = _plain(type_.arguments[0]) if type_.arguments else None
            if type_ is not None:
                types.setdefault(name, type_)
        return known


def _bound(program: Program, syntax: Lambda | Function) -> Iterator[tuple[str, Expr, bool]]:
    for node in nodes(program, syntax.body):
        match node:
            case Compound(kind="list_comprehension" | "set_comprehension" | "generator", bound=(name,), parts=parts):
                yield name, parts[0], True
            case Block(kind="for", bound=(name,), expressions=(iterated, *_)):
                yield name, iterated, True
            case Assign(targets=(Name(id=name),), value=value) if value is not None:
                yield name, value, False
            case _:
                pass


def _plain(type_: TypeExpr) -> TypeExpr:
    while type_.name in _WRAPPED and type_.arguments:
        type_ = type_.arguments[0]
    if type_.name == "|":
        some = [part for part in type_.arguments if part.name != "None"]
        return _plain(some[0]) if len(some) == 1 else type_
    return type_
