"""Two branches of a fork that write one slot.

What it detects: two branches of one `parallel` that leave the same contract.

Why it matters: Which of the two values a later step binds would depend on which branch was written
last.

When to suppress: Never needed: let each branch give its own contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.slots import produces
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1013", "branches-share-a-slot", ERROR)

INVALID = (
    Example(
        """\
flow.parallel(
    start_job,
    lambda b: b.step(start_job),  # <-
)
""",
    ),
)

VALID = (
    Example(
        "flow.parallel(start_job, open_review)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every contract that a later branch leaves after an earlier one did."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            if isinstance(construct, model.Parallel) and len(construct.branches) > 1:
                yield from _collisions(program, construct)


def _collisions(program: Program, fork: model.Parallel) -> Iterator[Finding]:
    first: dict[str, Place] = {}
    for branch in fork.branches:
        own: dict[str, Place] = {}
        for contract, place in produces(program, branch):
            if contract == "None":
                continue
            if contract in first and contract not in own:
                name = contract.rpartition(".")[2]
                yield RULE.finding(
                    place,
                    f"two branches leave {name}: a later step would bind whichever was written last",
                    label=f"also leaves {name}",
                    help="let each branch give a contract of its own",
                    related=(Related(first[contract], "left here first"),),
                )
            own.setdefault(contract, place)
        first = {**own, **first}
