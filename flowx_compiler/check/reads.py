"""What a data function reads from its context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.check.nodes import calls_in
from flowx_compiler.findings import Place
from flowx_compiler.model import DataFunction, Program
from flowx_compiler.syntax import Attribute, Call, Expr, Name, walk


@dataclass(frozen=True, slots=True)
class Read:
    """One `ctx.get(T)`, `ctx.find(T)` or `ctx.results(T)`."""

    method: str
    contract: str
    """Qualified name."""
    place: Place


def reads(program: Program, function: DataFunction) -> Iterator[Read]:
    """Every read of a contract, in source order."""
    file = program.modules[function.module].file
    for call in calls_in(program, function.syntax):
        target = call.function
        if (
            isinstance(target, Attribute)
            and isinstance(target.value, Name)
            and target.value.id == function.parameter
            and target.attr in ("get", "find", "results")
            and call.arguments
        ):
            contract = qualified(program, function.module, call.arguments[0].value)
            if contract is not None:
                yield Read(target.attr, contract, Place(file, call.span))


def calls(part: object) -> Iterator[Call]:
    """Every call below a piece of syntax, outer before inner, in source order."""
    for node in walk(part):
        if isinstance(node, Call):
            yield node


def qualified(program: Program, module: str, expression: Expr) -> str | None:
    """The qualified name that a dotted expression means in a module; `None` where it is none or unknown."""
    attributes: list[str] = []
    while isinstance(expression, Attribute):
        attributes.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, Name):
        return None
    name = program.resolved.get(module, {}).get(expression.id)
    for attribute in reversed(attributes):
        if name is None:
            return None
        inner = program.resolved.get(name)
        name = inner.get(attribute, f"{name}.{attribute}") if inner is not None else f"{name}.{attribute}"
    return name
