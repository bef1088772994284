"""Which classes are flows: their declaration, and their definition as a tree."""

from __future__ import annotations

from datetime import timedelta

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.arguments import Signature, bind
from flowx_compiler.link.constants import NOT_CONSTANT
from flowx_compiler.link.contracts import MOVE_IT, contract, is_inside
from flowx_compiler.link.grammar import Grammar
from flowx_compiler.link.project import RUNTIME, Given, Project
from flowx_compiler.link.types import NONE, UNKNOWN, plain
from flowx_compiler.link.unresolved import note_unresolved
from flowx_compiler.link.values import ValueReader
from flowx_compiler.model import CronTrigger, Flow, HttpTrigger, Sequence, TypeExpr
from flowx_compiler.syntax import Call, Class, Expr, Function, Subscript
from flowx_runtime.plan import InvalidDuration, format_duration

_FLOW = Signature(
    flexible=("id",), keyword=("version", "profile", "owner", "deadline"), required=frozenset({"id", "version"})
)
_HTTP = Signature(flexible=("method", "route"), keyword=("idempotent",), required=frozenset({"method", "route"}))
_CRON = Signature(
    flexible=("expression",), keyword=("time_zone", "missed_fire", "jitter"), required=frozenset({"expression"})
)


def is_flow(project: Project, module: str, syntax: Class) -> bool:
    """Whether a class carries `@flow`."""
    return bool(project.decorator(module, syntax.decorators, "flow"))


def read_flow(project: Project, module: str, syntax: Class) -> Flow | None:
    """The flow a class declares; `None` where not even its head is understood (which has been noted)."""
    decorators = project.decorator(module, syntax.decorators, "flow")
    decorator = decorators[-1]
    place = project.place(module, decorator.span)
    if len(decorators) > 1 or not isinstance(decorator, Call):
        message = f"{syntax.name} carries `@flow` {'twice' if len(decorators) > 1 else 'without calling it'}"
        project.problems.add(ids.DECORATOR_MISPLACED, place, message, 'write `@flow("…", version="…")` once')
        return None
    given = bind(project, module, decorator, "flow", _FLOW, place)
    head = None if given is None else _head(project, module, syntax, given)
    types = _contracts(project, module, syntax)
    triggers = _triggers(project, module, syntax)
    if types is None:
        return None
    grammar = Grammar(project, ValueReader(project), types[0])
    define = _define(project, module, syntax)
    body = Sequence((), place)
    if define is not None:
        body = grammar.read_define(module, define)
        if types[1] != NONE and grammar.body.returns is None and grammar.is_sound and not _always_fails(body):
            grammar.problem(
                ids.RETURNS_MISPLACED,
                project.place(module, define.name_span),
                f"{syntax.name} promises `{types[1]}` and has no `returns`",
                "end define with `flow.returns(lambda ctx: …)`",
            )
    if given is None or head is None:
        return None  # after its definition was read: what is wrong there must not hide behind the decorator
    deadline_argument = given.get("deadline")
    profile_argument = given.get("profile")
    return Flow(
        name=f"{module}.{syntax.name}",
        module=module,
        id=str(head["id"]),
        version=str(head["version"]),
        is_durable=head["profile"] == "DURABLE",
        profile_place=None if profile_argument is None else project.place(module, profile_argument.span),
        owner=head["owner"] if isinstance(head["owner"], str) else None,
        deadline=head["deadline"] if isinstance(head["deadline"], timedelta) else None,
        deadline_place=None if deadline_argument is None else project.place(module, deadline_argument.span),
        input=types[0],
        output=types[1],
        triggers=triggers,
        body=body,
        returns=grammar.body.returns,
        on_failure=tuple(grammar.body.on_failure),
        syntax=syntax,
        is_sound=grammar.is_sound and define is not None,
        place=place,
        name_place=project.place(module, syntax.name_span),
    )


def _always_fails(body: Sequence) -> bool:
    return bool(body.constructs) and type(body.constructs[-1]).__name__ == "Fail"


def _head(project: Project, module: str, syntax: Class, given: Given) -> dict[str, object] | None:
    values: dict[str, object] = {"owner": None, "deadline": None, "profile": "EPHEMERAL"}
    is_readable = True

    def refuse(parameter: str, expression: Expr, help: str) -> None:
        nonlocal is_readable
        is_readable = False
        message = f"`{parameter}` of `@flow` on {syntax.name} is not what the compiler can read"
        project.problems.add(ids.DECORATOR_NOT_CONSTANT, project.place(module, expression.span), message, help)

    for parameter, argument in given.by_name.items():
        expression = argument.value
        if parameter == "deadline":
            folded = project.constants.duration(module, expression)
            if isinstance(folded, InvalidDuration):
                is_readable = False
                at = project.place(module, expression.span)
                project.problems.add(
                    ids.NOT_A_DURATION, at, f"`deadline` of {syntax.name}: {folded}", "write for example 'PT6H'"
                )
            elif not isinstance(folded, timedelta):
                refuse(parameter, expression, "write ISO-8601 text such as 'PT6H', a `timedelta`, or a constant")
            elif folded <= timedelta(0):
                is_readable = False
                at = project.place(module, expression.span)
                message = f"the deadline of {syntax.name} is {folded}, which is no time at all"
                project.problems.add(ids.DURATION_NOT_POSITIVE, at, message, "give a positive duration")
            values[parameter] = folded
            continue
        value = project.constants.literal(module, expression)
        if parameter == "profile":
            match value:
                case ("enum", owner, "DURABLE" | "EPHEMERAL" as name) if owner == f"{RUNTIME}Profile":
                    values["profile"] = name
                case _:
                    refuse(parameter, expression, "write `Profile.DURABLE` or `Profile.EPHEMERAL`")
            continue
        if value is NOT_CONSTANT or not isinstance(value, str) or not value:
            refuse(parameter, expression, "write a literal text, or a module-level constant")
        values[parameter] = value
    return values if is_readable else None


def _contracts(project: Project, module: str, syntax: Class) -> tuple[TypeExpr, TypeExpr] | None:
    for base in syntax.bases:
        if base.keyword is None and isinstance(base.value, Subscript):
            name = project.names.resolve_expression(module, base.value.value)
            if name == f"{RUNTIME}Flow" and len(base.value.items) == 2:
                sides = [plain(project.types.resolve(module, item)) for item in base.value.items]
                return _checked_sides(project, module, syntax, base.value, sides)
    place = project.place(module, syntax.name_span)
    # A flow that derives from another flow is rule 1005's; it says more than a missing pair of contracts.
    if not _derives_from_flow(project, module, syntax):
        message = f"{syntax.name} does not say its input and output"
        advice = f"write `class {syntax.name}(Flow[Input, Output])`"
        project.problems.add(ids.FLOW_WITHOUT_CONTRACTS, place, message, advice)
    return None


def _derives_from_flow(project: Project, module: str, syntax: Class) -> bool:
    for base in syntax.bases:
        name = project.types.resolve(module, base.value).name
        found = project.names.definition(name)
        if found is not None and isinstance(found[1], Class) and is_flow(project, found[0], found[1]):
            return True
    return False


def _checked_sides(
    project: Project, module: str, syntax: Class, base: Subscript, sides: list[TypeExpr]
) -> tuple[TypeExpr, TypeExpr] | None:
    is_fine = True
    for side, item, what in zip(sides, base.items, ("input", "output"), strict=True):
        if what == "output" and side == NONE:
            continue
        if note_unresolved(project, module, item):
            is_fine = False
        elif side == UNKNOWN or contract(project, side.name) is None:
            is_fine = False
            project.problems.add(
                ids.FLOW_WITHOUT_CONTRACTS,
                project.place(module, item.span),
                f"the {what} of {syntax.name} is not a contract",
                MOVE_IT
                if is_inside(project, side.name)
                else "name a class that derives from `Contract` (or a frozen pydantic model)",
            )
    return (sides[0], sides[1]) if is_fine else None


def _define(project: Project, module: str, syntax: Class) -> Function | None:
    found = [statement for statement in syntax.body if isinstance(statement, Function) and statement.name == "define"]
    if not found:
        place = project.place(module, syntax.name_span)
        advice = "write `def define(self, flow: FlowBuilder[…]) -> None`"
        project.problems.add(ids.BAD_DEFINE, place, f"{syntax.name} has no `define`", advice)
        return None
    define = found[-1]
    place = project.place(module, define.name_span)
    parameters = define.parameters
    fits = len(parameters) == 2 and all(p.kind in ("positional", "positional_only") for p in parameters)
    if define.is_async or define.decorators or not fits:
        what = "async" if define.is_async else "decorated" if define.decorators else "not of the shape (self, flow)"
        advice = "write `def define(self, flow: FlowBuilder[…]) -> None`"
        project.problems.add(ids.BAD_DEFINE, place, f"the `define` of {syntax.name} is {what}", advice)
        return None
    return define


def _triggers(project: Project, module: str, syntax: Class) -> tuple[HttpTrigger | CronTrigger, ...]:
    triggers: list[HttpTrigger | CronTrigger] = []
    for name, signature in (("http_trigger", _HTTP), ("cron_trigger", _CRON)):
        for decorator in project.decorator(module, syntax.decorators, name):
            place = project.place(module, decorator.span)
            given = bind(project, module, decorator, name, signature, place) if isinstance(decorator, Call) else None
            if given is None:
                continue
            values = _trigger_values(project, module, syntax, name, given)
            if values is not None:
                triggers.append(_trigger(name, values, place))
    return tuple(triggers)


def _trigger_values(project: Project, module: str, syntax: Class, name: str, given: Given) -> dict[str, object] | None:
    values: dict[str, object] = {}
    for parameter, argument in given.by_name.items():
        value = project.constants.literal(module, argument.value)
        if parameter == "jitter":
            folded = project.constants.duration(module, argument.value)
            value = value if isinstance(value, str) else folded
        if value is NOT_CONSTANT:
            project.problems.add(
                ids.DECORATOR_NOT_CONSTANT,
                project.place(module, argument.span),
                f"`{parameter}` of `@{name}` on {syntax.name} is not a constant the compiler can read",
                "write a literal, or a module-level constant",
            )
            return None
        values[parameter] = value
    return values


def _trigger(name: str, values: dict[str, object], place: Place) -> HttpTrigger | CronTrigger:
    if name == "http_trigger":
        return HttpTrigger(str(values["method"]), str(values["route"]), values.get("idempotent") is True, place)
    missed = values.get("missed_fire", ("enum", "", "RUN_ONCE"))
    jitter = values.get("jitter")
    return CronTrigger(
        expression=str(values["expression"]),
        time_zone=str(values.get("time_zone", "UTC")),
        missed_fire=str(missed[2]).lower() if isinstance(missed, tuple) else "run_once",
        jitter=format_duration(jitter) if isinstance(jitter, timedelta) else None if jitter is None else str(jitter),
        place=place,
    )
