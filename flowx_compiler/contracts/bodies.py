"""What a model's class statements say, its own and its bases': members as they are written, settings, validators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flowx_compiler.contracts import generics
from flowx_compiler.contracts.configuration import Settings, written_settings
from flowx_compiler.contracts.metadata import HOOKS, name_of
from flowx_compiler.contracts.validators import NO_VERDICTS, Verdicts, judged_assignment, judged_function
from flowx_compiler.contracts.where import Given, Meanings, Where
from flowx_compiler.syntax import Assign, Block, Class, Constant, Expr, Function, Name, Span, Stmt, Subscript

CONTRACT = "flowx_runtime.Contract"
MODELS = frozenset({"pydantic.BaseModel", "pydantic.main.BaseModel", CONTRACT})
ROOT_MODELS = frozenset({"pydantic.RootModel", "pydantic.root_model.RootModel"})
_SHAPELESS = frozenset({"abc.ABC", "builtins.object"}) | generics.GENERIC
_NOWHERE = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Declared:
    """A member as it is written."""

    name: str
    annotation: Expr
    value: Expr | None
    where: Where
    maker: tuple[Expr, Where] | None = None
    """The first alias generator that it met on the way down to the model: where the member says one name of its own,
    that generator has made the others for good."""


@dataclass(frozen=True, slots=True)
class Body:
    """A model's class statements, with those of its bases."""

    members: Mapping[str, Declared] = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    is_root: bool = False
    verdicts: Verdicts = NO_VERDICTS
    opaque: str = ""
    """Why nothing can be said of the whole."""

    def under(self, base: Body) -> Body:
        """This base, and another one right of it: its members go first, and the settings of the other one."""
        return Body(
            members={**base.members, **self.members},
            settings={**self.settings, **base.settings},
            is_root=self.is_root or base.is_root,
            verdicts=self.verdicts.also(base.verdicts),
            opaque=self.opaque or base.opaque,
        )


@dataclass(slots=True)
class Bodies:
    """Reads class statements, each class once for what is given for its type variables."""

    names: Meanings
    given: Callable[[Sequence[Expr], Where], Sequence[Given]]
    _known: dict[str, Body | None] = field(default_factory=dict)

    def body(self, qualified: str, arguments: Sequence[Given] | None) -> Body | None:
        """The body of a model; `None` for a class that is no model.

        Args:
            qualified: the class's name.
            arguments: given for its type variables; `None` where it is not subscripted.
        """
        name = qualified if arguments is None else generics.parametrised_name(qualified, arguments)
        if name not in self._known:
            self._known[name] = None  # a class that derives from itself ends here
            self._known[name] = self._read(qualified, arguments)
        return self._known[name]

    def is_model(self, qualified: str) -> bool:
        """Whether a class derives from a model, by whatever road."""
        return self._derives(qualified, frozenset())

    def _derives(self, qualified: str, seen: frozenset[str]) -> bool:
        found = self.names.class_of(qualified)
        if found is None or qualified in seen:
            return False
        where = Where(self.names, found[0])
        for base in found[1].bases:
            name = where.qualified(base.value.value if isinstance(base.value, Subscript) else base.value)
            is_base = base.keyword is None and name is not None
            if is_base and (name in MODELS | ROOT_MODELS or self._derives(name or "", seen | {qualified})):
                return True
        return False

    def _read(self, qualified: str, arguments: Sequence[Given] | None) -> Body | None:
        found = self.names.class_of(qualified)
        if found is None:
            return None
        module, syntax = found
        where = Where(self.names, module)
        names = [] if arguments is None else generics.parameters(qualified, syntax, where)
        variables = generics.bound_to(names, arguments or ())
        if variables is None:
            return Body(opaque=f"{syntax.name} takes another number of types")
        # The type parameters of `class Page[T]` are names of its bases too; nothing else of its body is.
        outside = Where(self.names, module, qualified if syntax.type_parameters else "", variables)
        above = self._bases(syntax, outside)
        if above is None:
            return None
        inside = replace(outside, owner=qualified)
        return _laid_over(_own(syntax, inside), above)

    def _bases(self, syntax: Class, where: Where) -> Body | None:
        """What the bases say together; `None` where none of them is a model."""
        together, is_model = Body(), False
        for base in syntax.bases:
            if base.keyword is not None:
                continue
            if base.star:
                return Body(opaque="its base classes are not written out")
            subscript = base.value if isinstance(base.value, Subscript) else None
            name = where.qualified(base.value if subscript is None else subscript.value)
            if name in MODELS:
                is_model = True
                together = together.under(Body(settings=_closed(where) if name == CONTRACT else {}))
            elif name in ROOT_MODELS:
                is_model = True
                together = together.under(_root(subscript, where))
            elif name not in _SHAPELESS:
                arguments = None if subscript is None else self.given(subscript.items, where)
                body = None if name is None else self.body(name, arguments)
                is_model |= body is not None
                together = together.under(body or self._mixin(name, where))
        return together if is_model else None

    def _mixin(self, name: str | None, where: Where) -> Body:
        """A base that is no model: it adds nothing, as long as it has no members and every base of it is known."""
        found = None if name is None else self.names.class_of(name)
        if found is None or name is None:
            return Body(opaque="a base class is not part of the project")
        home = Where(where.names, found[0])
        for statement in found[1].body:
            if isinstance(statement, Block) or (isinstance(statement, Assign) and statement.annotation is not None):
                return Body(opaque=f"its base class {name_of(name)}, which is no model, has members")
        for base in found[1].bases:
            above = home.qualified(base.value)
            if base.keyword is None and above not in _SHAPELESS and self._mixin(above, home).opaque:
                return Body(opaque="a base class is not part of the project")
        return Body()


def _closed(where: Where) -> Settings:
    """A `Contract` refuses members that it does not know."""
    return {"extra": (Constant("forbid", _NOWHERE), where)}


def _root(subscript: Subscript | None, where: Where) -> Body:
    members = {} if subscript is None else {"root": Declared("root", subscript.items[0], None, where)}
    return Body(members=members, is_root=True)


def _laid_over(own: Body, above: Body) -> Body:
    settings = {**above.settings, **own.settings}
    maker = settings.get("alias_generator")
    members = {**above.members, **own.members}
    if maker is not None:
        members = {name: member if member.maker else replace(member, maker=maker) for name, member in members.items()}
    return Body(
        members=members,
        settings=settings,
        is_root=above.is_root,
        verdicts=own.verdicts.also(above.verdicts),
        opaque=own.opaque or above.opaque,
    )


def _own(syntax: Class, where: Where) -> Body:
    members: dict[str, Declared] = {}
    settings: dict[str, tuple[Expr, Where]] = {}
    verdicts = Verdicts()
    opaque = _opaque_head(syntax, where)
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id="model_config"),), value=value):
                found = written_settings(value, where)
                opaque = opaque or ("" if found is not None else "its configuration is not written out")
                settings |= found or {}
            case Assign(targets=(Name(id=name),), annotation=annotation, value=value) if annotation is not None:
                if not name.startswith("_"):
                    members[name] = Declared(name, annotation, value, where)
            case Assign(targets=(Name(id=name),), value=value) if name in HOOKS or value is None:
                opaque = opaque or "it makes its own schema"
            case Assign(value=value):
                verdicts = verdicts.also(judged_assignment(value, where))
            case Function(name=name) if name in HOOKS:
                opaque = opaque or "it makes its own schema"
            case Function():
                verdicts = verdicts.also(judged_function(statement, where))
            case Class(name="Config"):
                settings |= _old_settings(statement, where)
            case Block() if _declares(statement):
                opaque = opaque or "it declares members under a condition"
            case _:
                pass
    settings |= {base.keyword: (base.value, where) for base in syntax.bases if base.keyword not in (None, "metaclass")}
    return Body(members, settings, verdicts=verdicts, opaque=opaque)


def _opaque_head(syntax: Class, where: Where) -> str:
    if any(base.keyword == "metaclass" for base in syntax.bases):
        return "a metaclass makes it"
    for decorator in syntax.decorators:
        name = where.qualified(getattr(decorator, "function", decorator)) or ""
        if not name.startswith(("flowx_runtime.", "typing.", "warnings.", "functools.")):
            return f"it is decorated with {name_of(name) or 'a call'}, which may change it"
    return ""


def _old_settings(syntax: Class, where: Where) -> dict[str, tuple[Expr, Where]]:
    """`class Config:` inside a model, as pydantic 1 had it and 2 still takes it."""
    found: dict[str, tuple[Expr, Where]] = {}
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name),), value=value) if value is not None:
                found[name] = (value, where)
            case _:
                pass
    return found


def _declares(block: Block) -> bool:
    def declares(statement: Stmt) -> bool:
        if isinstance(statement, Block):
            return _declares(statement)
        return isinstance(statement, Assign) and statement.annotation is not None

    return any(declares(statement) for suite in block.suites for statement in suite.body)
