"""A flow, a capability, an event or a signal whose id is not words joined by dots.

What it detects: an id of `@flow`, `@capability`, `@event` or `@signal` that is not two or more words of small letters,
digits and underscores, joined by dots: `order.place`.

Why it matters: Ids are in the manifest, in routes, in the names of plan modules and in every row, for as long as
anybody keeps one. The first word says whose it is, so that the ids of two teams never meet.

When to suppress: Never: write a domain, a dot and a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1059", "identity-not-dotted", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        decorator='@flow("Example-Flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")  # <-',
    ),
    Example(
        """\
flow.step(open_review)
""",
        module="""\
from flowx_runtime import signal


@signal("go")  # <-
class Go(Contract):
    by: str
""",
    ),
    Example(
        """\
flow.step(open_review)
""",
        module="""\
@capability("close", version="1.0.0", authorization=Internal(), idempotent=True)  # <-
async def close(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
        decorator='@flow("example.flow_2", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")',
        module="""\
from flowx_runtime import signal


@signal("example.go")
class Go(Contract):
    by: str
""",
    ),
)

_DOTTED = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
"""As `schemas/flowx.manifest.schema.json` has it."""


def check(program: Program) -> Iterator[Finding]:
    """Every declaration with another kind of id."""
    declared = (
        *(("flow", flow.id, flow.place) for flow in program.flows.values()),
        *(("capability", item.id, item.place) for item in program.capabilities.values()),
        *(("event", event.id, event.place) for event in program.events.values()),
        *(("signal", signal.id, signal.place) for signal in program.signals.values()),
    )
    for kind, id, place in declared:
        if id and not _DOTTED.fullmatch(id):
            yield RULE.finding(
                place,
                f"the id of {kind} {id!r} is not small words joined by dots",
                label="no manifest can name it",
                help="write a domain, a dot and a name, for example `order.place`",
            )
