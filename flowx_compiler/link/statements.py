"""The statements of a definition: what is nothing, and what to write instead of what is not allowed."""

from __future__ import annotations

from flowx_compiler.syntax import (
    Assign,
    Block,
    Class,
    Compound,
    Constant,
    Expr,
    Function,
    Import,
    Name,
    Other,
    Return,
    Stmt,
)


def is_nothing(body: Expr, parameter: str) -> bool:
    """Whether a block's lambda builds nothing: `lambda b: b`, `lambda b: None`, `lambda b: ...`."""
    match body:
        case Name(id=name):
            return name == parameter
        case Constant(value=None) | Compound(kind="ellipsis"):
            return True
        case _:
            return False


def local_functions(body: tuple[Stmt, ...]) -> dict[str, Function]:
    """The functions that a definition defines, by name."""
    return {statement.name: statement for statement in body if isinstance(statement, Function)}


def describe(statement: Stmt) -> tuple[str, str]:
    """What a statement that is not allowed is, and what to write instead."""
    match statement:
        case Assign():
            return (
                "an assignment",
                "write one chain per statement; a value that a lambda needs is a module-level constant",
            )
        case Block(kind="if"):
            return "an `if`", "write `.when(predicate, block).otherwise(block)`"
        case Block(kind="for" | "while"):
            return f"a `{statement.kind}` loop", "write `.for_each(selector, block)`, or repeat the call"
        case Block(kind="match"):
            return "a `match`", "write `.switch(selector).case(value, block)`"
        case Block(kind="try"):
            return "a `try`", "declare an undo with `.compensate_with(…)`; a failing step fails the flow"
        case Block(kind="with"):
            return "a `with`", "put it inside a capability"
        case Import():
            return "an import", "move it to the top of the module"
        case Class():
            return "a class", "move it to the top of the module"
        case Return():
            return "a `return` before the end", "let the chain be the last statement"
        case Other(kind=kind):
            return f"a `{kind}`", "take it away"
        case _:
            return "this statement", "write a chain of builder calls"
