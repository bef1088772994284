"""A predicate that gives something else than a bool.

What it detects: a predicate of `when` or `poll_until` that answers with a text, a number, a
collection or a contract. `ctx.find(T)` is fine: it asks whether there is one.

Why it matters: Whether something is empty is rarely the question. A contract is always true, and so
is the text `"false"`.

When to suppress: Never needed: write the comparison out.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.predicates import given_by, predicates
from flowx_compiler.check.value_types import type_name
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Expr, Operation

RULE = Rule("FLOWX1264", "predicate-not-bool", WARNING)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.step(job_status)
flow.when(lambda ctx: ctx.get(JobStatus).state, lambda b: b.step(open_review))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(start_job)
flow.step(job_status)
flow.when(lambda ctx: ctx.get(JobStatus).state == "done", lambda b: b.step(open_review))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every answer of a predicate whose type is known and is not bool."""
    for flow in program.flows.values():
        for function in predicates(flow):
            for answer in (part for given in given_by(function.syntax) for part in _parts(given)):
                name = type_name(program, flow, function, answer)
                if name is None or name in ("builtins.bool", "None"):
                    continue
                if name.startswith("builtins.") or name in program.contracts:
                    short = name.rpartition(".")[2]
                    always = ": it is always true" if name in program.contracts else ""
                    yield RULE.finding(
                        Place(program.modules[function.module].file, answer.span),
                        f"this predicate answers with a `{short}`, not with a bool{always}",
                        label=f"a {short}",
                        help="write the comparison that is meant, such as `… == …` or `len(…) > 0`",
                    )


def _parts(expression: Expr) -> Iterator[Expr]:
    """What may be the answer itself: `not` makes a bool of anything."""
    match expression:
        case Operation(kind="and" | "or", operands=operands):
            for operand in operands:
                yield from _parts(operand)
        case Operation(kind="conditional", operands=(then, _, otherwise)):
            yield from _parts(then)
            yield from _parts(otherwise)
        case _:
            yield expression
