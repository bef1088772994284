"""Which classes are contracts, events, signals, errors and enumerations, and what is in them."""

from __future__ import annotations

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.arguments import Signature, bind
from flowx_compiler.link.project import RUNTIME, Project
from flowx_compiler.link.types import UNKNOWN, is_sensitive
from flowx_compiler.model import Contract, Enumeration, ErrorType, Event, Member, Signal, TypeExpr
from flowx_compiler.syntax import (
    Argument,
    Assign,
    Attribute,
    Call,
    Class,
    Constant,
    Display,
    Expr,
    Function,
    Name,
    Span,
)

_MODEL_ROOTS = frozenset({f"{RUNTIME}Contract", "pydantic.BaseModel", "pydantic.main.BaseModel", "pydantic.RootModel"})
_ENUM_ROOTS = frozenset({"enum.Enum", "enum.StrEnum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})
_CATEGORIES = {
    "VALIDATION": "validation",
    "NOT_FOUND": "not_found",
    "CONFLICT": "conflict",
    "FORBIDDEN": "forbidden",
    "UNAVAILABLE": "unavailable",
    "INTERNAL": "internal",
}
_NOWHERE = Span(1, 1, 1, 1)
SCHEDULED_FIRE = f"{RUNTIME}ScheduledFire"
MOVE_IT = "move it to module level: a class inside another is no contract, because no plan can import it"
_EVENT = Signature(flexible=("id",), keyword=("version",), required=frozenset({"id", "version"}))
_SIGNAL = Signature(flexible=("id",), required=frozenset({"id"}))


def class_of(project: Project, qualified: str) -> tuple[str, Class] | None:
    """The module and the statement of a class of the project."""
    found = project.names.definition(qualified)
    return (found[0], found[1]) if found is not None and isinstance(found[1], Class) else None


def contract(project: Project, qualified: str) -> Contract | None:
    """The contract of that name, or `None`."""
    if qualified == SCHEDULED_FIRE:
        return _scheduled_fire()
    if qualified not in project.contracts:
        project.contracts[qualified] = None  # a class that derives from itself ends here
        project.contracts[qualified] = _read_contract(project, qualified)
    return project.contracts[qualified]


def is_inside(project: Project, qualified: str) -> bool:
    """Whether a qualified name is a class in the body of another class, where no contract can be."""
    owner, _, name = qualified.rpartition(".")
    around = class_of(project, owner)
    return around is not None and any(isinstance(item, Class) and item.name == name for item in around[1].body)


def _read_contract(project: Project, qualified: str) -> Contract | None:
    found = class_of(project, qualified)
    if found is None:
        return None
    module, syntax = found
    members: dict[str, Member] = {}
    is_model, is_complete, is_frozen = False, True, False
    for base in syntax.bases:
        if base.keyword is not None:
            is_frozen |= base.keyword == "frozen" and isinstance(base.value, Constant) and base.value.value is True
            continue
        name = project.types.resolve(module, base.value).name
        if name in _MODEL_ROOTS:
            is_model = True
            is_frozen |= name == f"{RUNTIME}Contract"
            is_complete &= name != "pydantic.RootModel"
        elif (inherited := contract(project, name)) is not None:
            is_model = True
            is_complete &= inherited.is_complete
            is_frozen |= inherited.is_frozen
            members |= {member.name: member for member in inherited.members}
        elif name not in ("typing.Generic", "abc.ABC", "typing.Protocol"):
            is_complete = False
    if not is_model:
        return None
    is_frozen |= _config_says_frozen(syntax)
    members |= {member.name: member for member in _own_members(project, module, syntax)}
    place = project.place(module, syntax.name_span)
    return Contract(qualified, syntax, module, tuple(members.values()), is_complete, is_frozen, place)


def _own_members(project: Project, module: str, syntax: Class) -> list[Member]:
    members = []
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name, span=span),), annotation=annotation, value=value) if annotation:
                type_ = project.types.resolve(module, annotation)
                if type_.name == "typing.ClassVar" or name.startswith("_") or name == "model_config":
                    continue
                place = project.place(module, span)
                has_default = value is not None and not _is_required_field(value)
                members.append(Member(name, "field", type_, has_default, is_sensitive(type_), place))
            case Function():
                names = {_last_name(decorator) for decorator in statement.decorators}
                is_property = bool(names & {"property", "cached_property", "computed_field"})
                type_ = project.types.resolve(module, statement.returns) if statement.returns is not None else UNKNOWN
                place = project.place(module, statement.name_span)
                kind = "property" if is_property else "method"
                members.append(Member(statement.name, kind, type_, has_default=True, is_sensitive=False, place=place))
            case _:
                pass
    return members


def _is_required_field(value: Expr) -> bool:
    """`= Field(…)` without a default, or `= ...`."""
    if isinstance(value, Call) and _last_name(value.function) == "Field":
        given = {argument.keyword for argument in value.arguments}
        first = next((argument.value for argument in value.arguments if argument.keyword is None), None)
        if first is not None:
            return not isinstance(first, Constant | Name | Call | Display)
        return not given & {"default", "default_factory"}
    return type(value).__name__ == "Compound" and getattr(value, "kind", "") == "ellipsis"


def _config_says_frozen(syntax: Class) -> bool:
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id="model_config"),), value=Call(arguments=arguments)):
                return any(_is_true(argument, "frozen") for argument in arguments)
            case Assign(targets=(Name(id="model_config"),), value=Display(kind="dict", items=items)):
                pairs = zip(items[::2], items[1::2], strict=False)
                return any(
                    isinstance(key, Constant)
                    and key.value == "frozen"
                    and isinstance(value, Constant)
                    and value.value is True
                    for key, value in pairs
                )
            case _:
                pass
    return False


def _is_true(argument: Argument, keyword: str) -> bool:
    return argument.keyword == keyword and isinstance(argument.value, Constant) and argument.value.value is True


def _last_name(expression: Expr) -> str:
    if isinstance(expression, Call):
        expression = expression.function
    if isinstance(expression, Attribute):
        return expression.attr
    return expression.id if isinstance(expression, Name) else ""


def _scheduled_fire() -> Contract:
    place = Place("flowx_runtime", _NOWHERE)
    fields = {"occurrence_at": "datetime.datetime", "cron": "builtins.str", "time_zone": "builtins.str"}
    members = tuple(
        Member(name, "field", TypeExpr(type_), has_default=False, is_sensitive=False, place=place)
        for name, type_ in fields.items()
    )
    syntax = Class("ScheduledFire", _NOWHERE, (), (), (), None, _NOWHERE)
    return Contract(SCHEDULED_FIRE, syntax, "flowx_runtime", members, is_complete=True, is_frozen=True, place=place)


def enumeration(project: Project, qualified: str) -> Enumeration | None:
    """The enumeration of that name, or `None`."""
    if qualified not in project.enumerations:
        project.enumerations[qualified] = None
        found = class_of(project, qualified)
        if found is not None and _is_enum(project, *found):
            module, syntax = found
            members = tuple(
                statement.targets[0].id
                for statement in syntax.body
                if isinstance(statement, Assign)
                and statement.value is not None
                and isinstance(statement.targets[0], Name)
                and not statement.targets[0].id.startswith("_")
            )
            place = project.place(module, syntax.name_span)
            project.enumerations[qualified] = Enumeration(qualified, members, place)
    return project.enumerations[qualified]


def _is_enum(project: Project, module: str, syntax: Class, seen: frozenset[str] = frozenset()) -> bool:
    for base in syntax.bases:
        if base.keyword is None:
            name = project.types.resolve(module, base.value).name
            if name in _ENUM_ROOTS:
                return True
            below = class_of(project, name)
            if below is not None and name not in seen and _is_enum(project, *below, seen | {name}):
                return True
    return False


def event(project: Project, qualified: str) -> Event | None:
    """What `@event` says of a contract, or `None`."""
    if qualified not in project.events:
        project.events[qualified] = None
        said = _marked(project, qualified, "event", _EVENT)
        if said is not None:
            place, values = said
            project.events[qualified] = Event(qualified, values["id"], values["version"], place)
    return project.events[qualified]


def signal(project: Project, qualified: str) -> Signal | None:
    """What `@signal` says of a contract, or `None`."""
    if qualified not in project.signals:
        project.signals[qualified] = None
        said = _marked(project, qualified, "signal", _SIGNAL)
        if said is not None:
            place, values = said
            project.signals[qualified] = Signal(qualified, values["id"], place)
    return project.signals[qualified]


def _marked(project: Project, qualified: str, name: str, signature: Signature) -> tuple[Place, dict[str, str]] | None:
    found = class_of(project, qualified)
    if found is None:
        return None
    module, syntax = found
    for decorator in project.decorator(module, syntax.decorators, name):
        place = project.place(module, decorator.span)
        if not isinstance(decorator, Call):
            message = f"`@{name}` on {syntax.name} is not called"
            project.problems.add(ids.DECORATOR_NOT_CONSTANT, place, message, f'write `@{name}("…")`')
            return None
        given = bind(project, module, decorator, name, signature, place)
        if given is None:
            return None
        values: dict[str, str] = {}
        for parameter, argument in given.by_name.items():
            value = project.constants.literal(module, argument.value)
            if not isinstance(value, str) or not value:
                project.problems.add(
                    ids.DECORATOR_NOT_CONSTANT,
                    project.place(module, argument.span),
                    f"`{parameter}` of `@{name}` on {syntax.name} is not a text the compiler can read",
                    "write a literal, or a module-level constant",
                )
                return None
            values[parameter] = value
        return place, values
    return None


def error_type(project: Project, qualified: str) -> ErrorType | None:
    """The `FlowError` subclass of that name, or `None`."""
    if qualified == f"{RUNTIME}FlowError":
        return ErrorType(qualified, "", "internal", Place("flowx_runtime", _NOWHERE))
    if qualified not in project.errors:
        project.errors[qualified] = None
        found = class_of(project, qualified)
        if found is not None:
            project.errors[qualified] = _read_error(project, qualified, *found)
    return project.errors[qualified]


def _is_category(value: object) -> bool:
    match value:
        case ("enum", str(owner), str(member)):
            return owner == f"{RUNTIME}Category" and member in _CATEGORIES
        case _:
            return False


def _read_error(project: Project, qualified: str, module: str, syntax: Class) -> ErrorType | None:
    parent: ErrorType | None = None
    code = category = None
    for base in syntax.bases:
        if base.keyword is None:
            name = project.names.resolve_expression(module, base.value)
            parent = parent or (error_type(project, name) if name is not None else None)
        elif base.keyword == "code":
            code = project.constants.literal(module, base.value)
        elif base.keyword == "category":
            category = project.constants.literal(module, base.value)
            if not _is_category(category):
                project.problems.add(
                    ids.NOT_IN_SET,
                    project.place(module, base.value.span),
                    f"`category` of {syntax.name} is not one of the six there are",
                    f"write one of {', '.join(f'`Category.{member}`' for member in _CATEGORIES)}",
                )
    if parent is None:
        return None
    place = project.place(module, syntax.name_span)
    match category:
        case ("enum", str(owner), str(member)) if owner == f"{RUNTIME}Category" and member in _CATEGORIES:
            category_name = _CATEGORIES[member]
        case _:
            category_name = parent.category
    return ErrorType(qualified, code if isinstance(code, str) else parent.code, category_name, place)
