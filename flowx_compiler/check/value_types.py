"""What a data function gives, as far as constructors and annotations tell."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import project_function
from flowx_compiler.check.predicates import given_by, value_type
from flowx_compiler.check.reads import qualified
from flowx_compiler.model import DataFunction, Flow, Program
from flowx_compiler.syntax import Call, Constant, Expr, Operation


def given_types(program: Program, flow: Flow, function: DataFunction) -> tuple[tuple[str, Expr], ...] | None:
    """Every type a data function may give, with the expression that gives it; `None` where one cannot be told."""
    found: list[tuple[str, Expr]] = []
    for answer in (part for given in given_by(function.syntax) for part in _parts(given)):
        name = type_name(program, flow, function, answer)
        if name is None:
            return None
        found.append((name, answer))
    return tuple(found) or None


def type_name(program: Program, flow: Flow, function: DataFunction, expression: Expr) -> str | None:
    """The qualified name of an expression's type; `None` where it cannot be told."""
    known = value_type(program, flow, function, expression)
    if known is not None:
        return None if known.name in ("?", "|") else known.name
    match expression:
        case Constant(value=None):
            return "None"
        case Constant(value=value):
            return f"builtins.{type(value).__name__}"
        case Call(function=called):
            return _called(program, function.module, called)
        case _:
            return None


def _called(program: Program, module: str, called: Expr) -> str | None:
    name = qualified(program, module, called)
    if name is None:
        return None
    if name in program.contracts:
        return name
    owner, _, method = name.rpartition(".")
    if method in ("model_validate", "model_construct") and owner in program.contracts:
        return owner
    helper = project_function(program, name)
    if helper is None or helper[1].is_async or helper[1].returns is None:
        return None
    returned = qualified(program, helper[0], helper[1].returns)
    return returned if returned in program.contracts else None


def is_kind_of(program: Program, name: str, wanted: str) -> bool | None:
    """Whether a class is another or derives from it; `None` where a base is not of the project."""
    if name == wanted:
        return True
    contract = program.contracts.get(name)
    if contract is None:
        return False if name.startswith("builtins.") or name == "None" else None
    unknown = False
    for base in contract.syntax.bases:
        if base.keyword is not None:
            continue
        parent = qualified(program, contract.module, base.value)
        if parent is None:
            unknown = True
        elif parent in program.contracts or parent == wanted:
            answer = is_kind_of(program, parent, wanted)
            if answer:
                return True
            unknown |= answer is None
    return None if unknown else False


def _parts(expression: Expr) -> Iterator[Expr]:
    match expression:
        case Operation(kind="conditional", operands=(then, _, otherwise)):
            yield from _parts(then)
            yield from _parts(otherwise)
        case _:
            yield expression
