"""A predicate, selector, map or projection that changes something.

What it detects: a data function that assigns to, or calls a method such as `append` or `update` on,
what it reads from its context, that uses `setattr`, or that yields.

Why it matters: It is evaluated again after a resume, on values that rows hold already. A change is
made twice, or is in no row at all. A function that yields answers with a generator, which is always
true.

When to suppress: Never: let a step make the changed value its result.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.predicates import data_functions, is_below
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import DataFunction, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Assign, Attribute, Call, Compound, Name, Span, Subscript

RULE = Rule("FLOWX1265", "effect-in-a-data-function", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(open_review, lambda ctx: ctx.input.lines.append(1) or ctx.input)  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review, lambda ctx: ctx.input.model_copy(update={"total": 0}))
""",
    ),
)


_MUTATORS = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault"}
    | {"sort", "update"}
)


def check(program: Program) -> Iterator[Finding]:
    """Every change, and every yield, in a data function."""
    for flow in program.flows.values():
        for function in data_functions(flow):
            file = program.modules[function.module].file
            for what, span in _effects(program, function):
                yield RULE.finding(
                    Place(file, span),
                    f"a data function of {flow.id!r} {what}",
                    label="done again after a resume",
                    help="only read here; let a step make the changed value its result",
                )


def _effects(program: Program, function: DataFunction) -> Iterator[tuple[str, Span]]:
    for node in nodes(program, function.syntax.body):
        match node:
            case Compound(kind="yield" | "yield_from", span=span):
                yield "yields, so its answer is a generator", span
            case Call(function=Attribute(value=value, attr=method), span=span) if method in _MUTATORS and is_below(
                value, function.parameter
            ):
                yield f"changes what it reads, with `{method}`", span
            case Call(function=Name(id="setattr"), span=span):
                yield "sets an attribute", span
            case Assign(targets=targets, span=span) if any(
                isinstance(target, Attribute | Subscript) and is_below(target.value, function.parameter)
                for target in targets
            ):
                yield "assigns to what it reads", span
            case _:
                pass
