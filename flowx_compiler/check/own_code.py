"""The code of capabilities and flow classes that runs, as opposed to what `define` declares."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.model import Capability, Flow, Program
from flowx_compiler.syntax import Assign, Call, Class, Constant, Expr, Function, Lambda, Span, walk

_OTHER_FUNCTIONS: frozenset[type] = frozenset({Function, Lambda, Class})


def bodies(capability: Capability) -> Iterator[object]:
    """What runs when a capability runs: the function, or every method and every class-level value."""
    if capability.owner is None:
        yield capability.function.body
    else:
        yield from _class_bodies(capability.owner, skipped=())


def flow_bodies(flow: Flow) -> Iterator[object]:
    """The members of a flow class except `define`, whose lambdas have rules of their own."""
    yield from _class_bodies(flow.syntax, skipped=("define",))


def _class_bodies(syntax: Class, *, skipped: tuple[str, ...]) -> Iterator[object]:
    for statement in syntax.body:
        match statement:
            case Function(name=name, body=body) if name not in skipped:
                yield body
            case Assign(value=value) if value is not None:
                yield value
            case _:
                pass


def held(owner: Class) -> Iterator[tuple[Expr, Span]]:
    """What a class is given and keeps: annotations of attributes and constructor parameters, and what `__init__` makes.

    Each with the place it is written at: an annotation in quotes is read, and its names have no place of their own.
    """
    for statement in owner.body:
        match statement:
            case Assign(annotation=annotation) if annotation is not None:
                yield _unquoted(annotation), annotation.span
            case Function(name="__init__", parameters=parameters, body=body):
                for parameter in parameters:
                    if parameter.annotation is not None:
                        yield _unquoted(parameter.annotation), parameter.annotation.span
                for inner in body:
                    if isinstance(inner, Assign) and isinstance(inner.value, Call):
                        yield inner.value.function, inner.value.function.span
            case _:
                pass


def _unquoted(annotation: Expr) -> Expr:
    if isinstance(annotation, Constant) and isinstance(annotation.value, str):
        # Reading brings in the parser, which a build of cached files does without.
        from flowx_compiler.read.module import read_expression

        return read_expression(annotation.value) or annotation
    return annotation


def statements_of(body: object) -> Iterator[object]:
    """Every node of a function's own body: nested functions and lambdas are other functions."""
    return walk(body, _OTHER_FUNCTIONS)


def classes(program: Program) -> dict[str, tuple[str, Class]]:
    """Every module-level class of the project by qualified name, with its module."""
    return {
        f"{name}.{statement.name}": (name, statement)
        for name, module in program.modules.items()
        for statement in module.body
        if isinstance(statement, Class)
    }
