"""An undo that dies with the process.

What it detects: a flow with `compensate_with` whose profile is not `DURABLE`; at the flow's
decorator, once.

Why it matters: Without a journal the list of what to undo is in memory: a crash in the middle
leaves every effect so far standing.

When to suppress: The undo is best effort on purpose, and losing it is acceptable; say why.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1012", "undo-without-a-journal", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")  # <-',
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every flow that compensates and keeps no journal."""
    for flow in program.flows.values():
        if flow.is_durable:
            continue
        undone = [c for c in constructs(flow.body) if isinstance(c, model.Step) and c.compensation is not None]
        if undone:
            first = undone[0].compensation
            assert first is not None, "only steps with an undo are here"
            yield RULE.finding(
                flow.place,
                f"{flow.id!r} declares {len(undone)} undo{'s' if len(undone) > 1 else ''} and keeps no journal: "
                "a crash forgets them",
                label="no journal",
                help="add `profile=Profile.DURABLE`",
                related=(Related(first.place, "the first undo"),),
            )
