"""Which classes and functions are capabilities, and what they declare."""

from __future__ import annotations

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.arguments import Signature, bind
from flowx_compiler.link.constants import NOT_CONSTANT
from flowx_compiler.link.contracts import MOVE_IT, contract, error_type, is_inside
from flowx_compiler.link.free_names import is_generator
from flowx_compiler.link.project import RUNTIME, Given, Project
from flowx_compiler.link.types import NONE, UNKNOWN, plain
from flowx_compiler.link.unresolved import note_unresolved
from flowx_compiler.model import Capability, Stance, TypeExpr
from flowx_compiler.syntax import Block, Call, Class, Constant, Display, Expr, Function, Parameter, Stmt

_CAPABILITY = Signature(
    flexible=("id",),
    keyword=("version", "authorization", "idempotent", "side_effects", "errors", "deprecated"),
    required=frozenset({"id", "version"}),
)
_STANCES = {
    f"{RUNTIME}Public": "public",
    f"{RUNTIME}Authenticated": "authenticated",
    f"{RUNTIME}Permission": "permission",
    f"{RUNTIME}Internal": "internal",
}


def capability(project: Project, qualified: str) -> Capability | None:
    """The capability of that name; `None` where it is none, or cannot be understood (which has been noted)."""
    if qualified not in project.capabilities:
        project.capabilities[qualified] = None
        found = project.names.definition(qualified)
        if found is not None and isinstance(found[1], Class | Function):
            project.capabilities[qualified] = _read(project, qualified, found[0], found[1])
    return project.capabilities[qualified]


def is_declared(project: Project, qualified: str) -> bool:
    """Whether something carries `@capability`, understood or not."""
    found = project.names.definition(qualified)
    if found is None or not isinstance(found[1], Class | Function):
        return False
    return bool(project.decorator(found[0], found[1].decorators, "capability"))


def _read(project: Project, qualified: str, module: str, syntax: Class | Function) -> Capability | None:
    decorators = project.decorator(module, syntax.decorators, "capability")
    if not decorators:
        return None
    decorator = decorators[-1]
    place = project.place(module, decorator.span)
    if len(decorators) > 1:
        message = f"{syntax.name} carries `@capability` {len(decorators)} times"
        project.problems.add(ids.DECORATOR_MISPLACED, place, message, "keep one")
        return None
    if not isinstance(decorator, Call):
        project.problems.add(
            ids.DECORATOR_NOT_CONSTANT,
            place,
            f"`@capability` on {syntax.name} is not called",
            'write `@capability("…", …)`',
        )
        return None
    given = bind(project, module, decorator, "capability", _CAPABILITY, place)
    function = _function(project, module, syntax)
    if given is None or function is None:
        return None
    request, result = _contracts(project, module, syntax, function)
    constants = _constants(project, module, syntax.name, given)
    if request is None or result is None or constants is None:
        return None
    errors, are_readable = _errors(project, module, syntax.name, given)
    if not are_readable:
        return None
    return Capability(
        name=qualified,
        module=module,
        id=str(constants["id"]),
        version=str(constants["version"]),
        is_class=isinstance(syntax, Class),
        is_async=function.is_async,
        request=request,
        result=result,
        idempotent=constants["idempotent"] is True,
        side_effects=_texts(constants["side_effects"]),
        stance=_stance(project, module, given.get("authorization")),
        errors=errors,
        deprecated=constants["deprecated"] if isinstance(constants["deprecated"], str) else None,
        function=function,
        owner=syntax if isinstance(syntax, Class) else None,
        place=place,
        name_place=project.place(module, syntax.name_span),
    )


def _function(project: Project, module: str, syntax: Class | Function) -> Function | None:
    if isinstance(syntax, Function):
        return _checked(project, module, syntax, syntax.parameters, f"`{syntax.name}`")
    executes = [
        statement for statement in syntax.body if isinstance(statement, Function) and statement.name == "execute"
    ]
    if not executes:
        inherited = _inherited_execute(project, module, syntax)
        if inherited is not None:
            return inherited
        project.problems.add(
            ids.BAD_EXECUTE,
            project.place(module, syntax.name_span),
            f"capability {syntax.name} has no `execute`",
            "write `async def execute(self, request: Req, ctx: StepContext) -> Res`",
        )
        return None
    execute = executes[-1]
    if execute.decorators:
        project.problems.add(
            ids.BAD_EXECUTE,
            project.place(module, execute.decorators[0].span),
            f"`{syntax.name}.execute` is decorated",
            "make it a plain method: `async def execute(self, request: Req, ctx: StepContext) -> Res`",
        )
        return None
    return _checked(project, module, execute, execute.parameters[1:], f"`{syntax.name}.execute`")


def _inherited_execute(project: Project, module: str, syntax: Class) -> Function | None:
    for base in syntax.bases:
        if base.keyword is not None:
            continue
        name = project.types.resolve(module, base.value).name
        found = project.names.definition(name)
        if found is not None and isinstance(found[1], Class) and found[1] is not syntax:
            for statement in found[1].body:
                if isinstance(statement, Function) and statement.name == "execute" and found[0] == module:
                    return statement
    return None


def _checked(
    project: Project, module: str, function: Function, parameters: tuple[Parameter, ...], name: str
) -> Function | None:
    place = project.place(module, function.name_span)
    required = [parameter for parameter in parameters if parameter.default is None]
    is_plain = all(parameter.kind in ("positional", "positional_only") for parameter in parameters[:2])
    extra_required = [parameter for parameter in required[2:] if not parameter.kind.startswith("var_")]
    if len(parameters) < 2 or not is_plain or extra_required:
        shape = "(self, request, ctx)" if "." in name else "(request, ctx)"
        project.problems.add(
            ids.BAD_EXECUTE,
            place,
            f"{name} does not take exactly {shape}",
            f"write `async def {function.name}{shape}` with the request and `ctx: StepContext` annotated",
        )
        return None
    if is_generator(function):
        project.problems.add(
            ids.BAD_EXECUTE, place, f"{name} is a generator: it yields, and gives no result", "return one result"
        )
        return None
    return function


def _contracts(
    project: Project, module: str, syntax: Class | Function, function: Function
) -> tuple[TypeExpr | None, TypeExpr | None]:
    offset = 0 if isinstance(syntax, Function) else 1
    parameter = function.parameters[offset]
    name = syntax.name
    request: TypeExpr | None = plain(project.types.resolve(module, parameter.annotation))
    if note_unresolved(project, module, parameter.annotation):
        request = None
    elif request is None or contract(project, request.name) is None:
        what = "is not annotated" if parameter.annotation is None else f"is `{request}`, which is no contract"
        project.problems.add(
            _contract_problem(project, request, ids.BAD_REQUEST),
            project.place(module, parameter.annotation.span if parameter.annotation is not None else parameter.span),
            f"the request of capability `{name}` {what}",
            MOVE_IT
            if request is not None and is_inside(project, request.name)
            else "annotate it with a class that derives from `Contract` (or a frozen pydantic model)",
        )
        request = None
    result: TypeExpr | None = (
        plain(project.types.resolve(module, function.returns)) if function.returns is not None else UNKNOWN
    )
    if note_unresolved(project, module, function.returns):
        result = None
    elif result != NONE and (result is None or contract(project, result.name) is None):
        what = "is not annotated" if function.returns is None else f"is `{result}`, which is no contract"
        project.problems.add(
            _contract_problem(project, result, ids.BAD_RESULT),
            project.place(module, function.returns.span if function.returns is not None else function.name_span),
            f"the result of capability `{name}` {what}",
            MOVE_IT
            if result is not None and is_inside(project, result.name)
            else "annotate it with one contract, or `-> None` for a capability that gives nothing back",
        )
        result = None
    return request, result


def _contract_problem(project: Project, type_: TypeExpr | None, otherwise: str) -> str:
    """A union of contracts is two contracts on one capability; anything else is no contract at all."""
    members = () if type_ is None or type_.name != "|" else type_.arguments
    return ids.TWO_CONTRACTS if sum(contract(project, member.name) is not None for member in members) > 1 else otherwise


def _constants(project: Project, module: str, name: str, given: Given) -> dict[str, object] | None:
    kinds: dict[str, tuple[type, ...]] = {
        "id": (str,),
        "version": (str,),
        "idempotent": (bool,),
        "side_effects": (tuple,),
        "deprecated": (str, type(None)),
    }
    values: dict[str, object] = {"idempotent": False, "side_effects": (), "deprecated": None}
    is_readable = True
    for parameter, types in kinds.items():
        expression = given.get(parameter)
        if expression is None:
            continue
        value = project.constants.literal(module, expression)
        if value is NOT_CONSTANT or not isinstance(value, types) or value == "":
            is_readable = False
            project.problems.add(
                ids.DECORATOR_NOT_CONSTANT,
                project.place(module, expression.span),
                f"`{parameter}` of `@capability` on {name} is not a constant the compiler can read",
                "write a literal, or a module-level constant assigned once",
            )
        values[parameter] = value
    effects = values["side_effects"]
    if isinstance(effects, tuple) and not all(isinstance(effect, str) for effect in effects):
        is_readable = False
        at = project.place(module, given.by_name["side_effects"].span)
        message = f"`side_effects` of `@capability` on {name} holds something that is not text"
        advice = 'write a tuple of texts, as in `("payment",)`'
        project.problems.add(ids.DECORATOR_NOT_CONSTANT, at, message, advice)
    return values if is_readable else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, tuple) else ()


def _stance(project: Project, module: str, expression: Expr | None) -> Stance | None:
    """The stance; `None` where none is declared or it cannot be read (1010 and 1030 report)."""
    if expression is None:
        return None
    # The place is the argument's: a stance may be a constant that many capabilities share.
    place = project.place(module, expression.span)
    module, expression = project.constants.follow(module, expression)
    if not isinstance(expression, Call):
        return None
    kind = _STANCES.get(project.names.resolve_expression(module, expression.function) or "")
    if kind is None:
        return None
    argument = project.constants.literal(module, expression.arguments[0].value) if expression.arguments else None
    return Stance(kind, argument if isinstance(argument, str) else None, place)


def _errors(project: Project, module: str, name: str, given: Given) -> tuple[tuple[str, ...] | None, bool]:
    """The declared errors, and whether they could be read."""
    argument = given.get("errors")
    if argument is None or (isinstance(argument, Constant) and argument.value is None):
        return None, True
    home, listed = project.constants.follow(module, argument)
    if not isinstance(listed, Display) or listed.kind == "dict":
        message = f"`errors` of `@capability` on {name} is not a tuple of error classes"
        advice = "write `errors=(OutOfStock,)`"
        project.problems.add(ids.DECORATOR_NOT_CONSTANT, project.place(module, argument.span), message, advice)
        return None, False
    found: list[str] = []
    for item in listed.items:
        qualified = project.constants.named(home, item)
        if qualified is not None and error_type(project, qualified) is not None:
            found.append(qualified)
        elif not note_unresolved(project, home, item):
            what = (qualified or "").rpartition(".")[2] or "an expression"
            message = f"`errors` of `@capability` on {name} holds {what}, which is not a `FlowError`"
            advice = 'name classes that derive from `FlowError` with a `code="…"`'
            project.problems.add(ids.NOT_AN_ERROR, project.place(home, item.span), message, advice)
    return tuple(found), len(found) == len(listed.items)


def note_misplaced(project: Project, module: str, body: tuple[Stmt, ...], place: Place | None = None) -> None:
    """Note capabilities and flows declared inside functions or decisions, where no other module can name them."""
    for statement in body:
        match statement:
            case Class() | Function():
                if place is not None:
                    for name in ("capability", "flow", "event", "signal"):
                        if project.decorator(module, statement.decorators, name):
                            project.problems.add(
                                ids.DECLARED_INSIDE,
                                project.place(module, statement.name_span),
                                f"{name} `{statement.name}` is declared inside another, where no plan can import it",
                                "move it to the top of the module",
                            )
                inner = place or project.place(module, statement.name_span)
                note_misplaced(project, module, statement.body, inner)
            case Block(suites=suites):
                for suite in suites:
                    note_misplaced(project, module, suite.body, place)
            case _:
                pass
