"""A comparison by identity of a value that was stored.

What it detects: `is` or `is not` in a data function between a value of the context and a text, a
number or another value of the context. `None`, `True`, `False` and enum members are fine.

Why it matters: After a resume the values are read back from rows: equal, and not the same objects.
The comparison turns over.

When to suppress: Never: write `==`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.predicates import data_functions, is_below
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Constant, Expr, Operation

RULE = Rule("FLOWX1269", "identity-of-a-stored-value", WARNING)

INVALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.input.order_id is ctx.input.order_id, lambda b: b.step(open_review))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.input.channel is Channel.RETAIL, lambda b: b.step(open_review))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every identity comparison with something that has no lasting identity."""
    for flow in program.flows.values():
        for function in data_functions(flow):
            file = program.modules[function.module].file
            for node in nodes(program, function.syntax.body):
                match node:
                    case Operation(kind="compare", operators=operators, operands=operands, span=span) if set(
                        operators
                    ) & {"is", "is not"} and not any(map(_is_lasting, operands)):
                        read = sum(is_below(operand, function.parameter) for operand in operands)
                        literal = any(isinstance(operand, Constant) for operand in operands)
                        if read > 1 or (read and literal):
                            yield RULE.finding(
                                Place(file, span),
                                f"`{operators[0]}` in a data function of {flow.id!r} compares what no row keeps",
                                label="turns over after a resume",
                                help="write `==` or `!=`",
                            )
                    case _:
                        pass


def _is_lasting(operand: Expr) -> bool:
    return isinstance(operand, Constant) and (operand.value is None or isinstance(operand.value, bool))
