"""A member that a contract does not have.

What it detects: in a data function, an attribute of `ctx.input`, of `ctx.get(T)` or of a contract
below them, that the contract does not declare or inherit. A contract with a base outside the
project is left alone.

Why it matters: It fails when the flow comes there, which for an escalation may be weeks after the
start.

When to suppress: Never: write the member's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.predicates import data_functions, value_type
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Attribute

RULE = Rule("FLOWX1267", "unknown-member", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.input.totl > 100, lambda b: b.step(open_review))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.input.total > 100, lambda b: b.step(open_review))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every attribute that is read from a contract that lacks it."""
    for flow in program.flows.values():
        for function in data_functions(flow):
            file = program.modules[function.module].file
            for node in nodes(program, function.syntax.body):
                if not isinstance(node, Attribute) or _is_of_every_model(node.attr):
                    continue
                holder = value_type(program, flow, function, node.value)
                contract = None if holder is None else program.contracts.get(holder.name)
                if contract is None or not contract.is_complete:
                    continue
                names = [member.name for member in contract.members]
                if node.attr not in names:
                    short = contract.name.rpartition(".")[2]
                    close = get_close_matches(node.attr, names, 1)
                    yield RULE.finding(
                        Place(file, node.attr_span),
                        f"{short} has no member `{node.attr}`",
                        label=f"not in {short}",
                        help=f"did you mean `{close[0]}`?" if close else f"it has {', '.join(names)}",
                        related=(Related(contract.place, "declared here"),),
                    )


def _is_of_every_model(name: str) -> bool:
    return name.startswith(("model_", "__")) or name in ("copy", "dict", "json")
