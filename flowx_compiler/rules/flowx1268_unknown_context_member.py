"""Something that the context of a data function does not have.

What it detects: an attribute of the context parameter other than `input`, `get`, `find`, `results`,
`utc_now` and `error`.

Why it matters: A data function only reads the flow's state. Ids, randomness and writes belong to
steps, whose results are rows.

When to suppress: Never: do it in a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.predicates import data_functions
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Attribute, Name

RULE = Rule("FLOWX1268", "unknown-context-member", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.random.random() < 0.5, lambda b: b.step(open_review))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.utc_now.hour < 12, lambda b: b.step(open_review))
""",
    ),
)


_MEMBERS = ("input", "get", "find", "results", "utc_now", "error")


def check(program: Program) -> Iterator[Finding]:
    """Every other attribute of a context parameter."""
    for flow in program.flows.values():
        for function in data_functions(flow):
            file = program.modules[function.module].file
            for node in nodes(program, function.syntax.body):
                match node:
                    case Attribute(value=Name(id=root), attr=name, attr_span=span) if (
                        root == function.parameter and name not in _MEMBERS
                    ):
                        close = get_close_matches(name, _MEMBERS, 1)
                        hint = f"did you mean `{close[0]}`?" if close else "do it in a step, and read its result here"
                        yield RULE.finding(
                            Place(file, span),
                            f"the context of a data function has no `{name}`",
                            label=f"it has {', '.join(_MEMBERS)}",
                            help=hint,
                        )
                    case _:
                        pass
