"""The data functions of a flow, and what its predicates answer with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.reads import qualified
from flowx_compiler.model import DataFunction, Flow, Program, TypeExpr
from flowx_compiler.syntax import Attribute, Call, Expr, Function, Lambda, Name, Operation, Return, Subscript, walk


def predicates(flow: Flow) -> Iterator[DataFunction]:
    """Every function whose truth decides something."""
    for construct in constructs(flow.body):
        match construct:
            case model.When(predicate=predicate):
                yield predicate
            case model.Poll(until=until):
                yield until
            case _:
                pass


def data_functions(flow: Flow) -> Iterator[DataFunction]:
    """Every predicate, selector, map and projection, in declaration order."""
    for construct in constructs(flow.body):
        match construct:
            case model.Step(request=request) | model.SubFlow(request=request):
                if request is not None:
                    yield request
            case model.When(predicate=predicate):
                yield predicate
            case model.Switch(selector=selector) | model.ForEach(selector=selector):
                yield selector
            case model.Poll(until=until):
                yield until
            case model.Emit(payload=payload):
                yield payload
            case model.Parallel() | model.AwaitSignal() | model.Delay() | model.Fail():
                pass
            case _:
                assert_never(construct)
    for emit in flow.on_failure:
        yield emit.payload
    if flow.returns is not None:
        yield flow.returns


def answers(syntax: Lambda | Function) -> Iterator[Expr]:
    """The expressions whose truth a function's answer is: through `and`, `or`, `not` and conditionals."""
    for given in given_by(syntax):
        yield from _answers(given)


def given_by(syntax: Lambda | Function) -> Iterator[Expr]:
    """The expressions that a function may give back, as they are written."""
    if isinstance(syntax, Lambda):
        yield syntax.body
        return
    for node in walk(syntax.body):
        if isinstance(node, Return) and node.value is not None:
            yield node.value


def is_below(expression: Expr, parameter: str) -> bool:
    """Whether an expression reads something off a parameter: a member, an item, what a call of one gives."""
    while isinstance(expression, Attribute | Subscript | Call):
        expression = expression.function if isinstance(expression, Call) else expression.value
    return isinstance(expression, Name) and expression.id == parameter


def _answers(expression: Expr) -> Iterator[Expr]:
    match expression:
        case Operation(kind="and" | "or" | "not", operands=operands):
            for operand in operands:
                yield from _answers(operand)
        case Operation(kind="conditional", operands=(then, test, otherwise)):
            for part in (then, test, otherwise):
                yield from _answers(part)
        case _:
            yield expression


def uncalled(program: Program, flow: Flow, function: DataFunction, answer: Expr) -> str | None:
    """The name of a method or function that an answer names without calling it; `None` for any other answer."""
    if isinstance(answer, Name):
        meaning = program.resolved.get(function.module, {}).get(answer.id)
        module, _, name = (meaning or "").rpartition(".")
        if module in program.modules and any(
            isinstance(statement, Function) and statement.name == name for statement in program.modules[module].body
        ):
            return answer.id
        return None
    if not isinstance(answer, Attribute):
        return None
    holder = value_type(program, flow, function, answer.value)
    contract = None if holder is None else program.contracts.get(holder.name)
    for member in () if contract is None else contract.members:
        if member.name == answer.attr and member.kind == "method":
            return answer.attr
    return None


def value_type(program: Program, flow: Flow, function: DataFunction, expression: Expr) -> TypeExpr | None:
    """The type of `ctx.input`, `ctx.get(T)` and of members below them; `None` where it cannot be told."""
    match expression:
        case Attribute(value=Name(id=root), attr="input") if root == function.parameter:
            return flow.input
        case Call(function=Attribute(value=Name(id=root), attr="get"), arguments=arguments) if (
            root == function.parameter and arguments
        ):
            name = qualified(program, function.module, arguments[0].value)
            return None if name is None else TypeExpr(name)
        case Attribute(value=inner, attr=attribute):
            holder = value_type(program, flow, function, inner)
            contract = None if holder is None else program.contracts.get(holder.name)
            for member in () if contract is None else contract.members:
                if member.name == attribute and member.kind != "method":
                    return member.type
            return None
        case _:
            return None
