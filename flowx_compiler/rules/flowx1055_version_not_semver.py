"""A flow, a capability or an event whose version is not three numbers.

What it detects: a `version` of `@flow`, `@capability` or `@event` that is not a semantic version: three
numbers without leading zeros, and optionally what stands behind `-` or `+`.

Why it matters: Readers of an event, nodes that hold plans of several versions and `flowx diff` decide by it what goes
with what.

When to suppress: Never: write three numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1055", "version-not-semver", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(Opened, lambda ctx: Opened(order_id=ctx.input.order_id))
""",
        module="""\
from flowx_runtime import event


@event("example.opened", version="v2")  # <-
class Opened(Contract):
    order_id: str
""",
    ),
    Example(
        """\
flow.step(open_review)
""",
        decorator='@flow("example.flow", version="1.0", profile=Profile.DURABLE, deadline="P30D")  # <-',
    ),
    Example(
        """\
flow.step(open_review)
""",
        module="""\
@capability("example.close", version="01.0.0", authorization=Internal(), idempotent=True)  # <-
async def close(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(Opened, lambda ctx: Opened(order_id=ctx.input.order_id))
""",
        module="""\
from flowx_runtime import event


@event("example.opened", version="2.0.0")
class Opened(Contract):
    order_id: str
""",
    ),
)


_IDENTIFIERS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_SEMVER = re.compile(rf"(0|[1-9]\d*)(\.(0|[1-9]\d*)){{2}}(-{_IDENTIFIERS})?(\+{_IDENTIFIERS})?")


def check(program: Program) -> Iterator[Finding]:
    """Every declaration with another kind of version."""
    declared = (
        *(("flow", flow.id, flow.version, flow.place) for flow in program.flows.values()),
        *(("capability", item.id, item.version, item.place) for item in program.capabilities.values()),
        *(("event", event.id, event.version, event.place) for event in program.events.values()),
    )
    for kind, id, version, place in declared:
        if version and not _SEMVER.fullmatch(version):
            yield RULE.finding(
                place,
                f"the version of {kind} {id!r} is {version!r}, which is not three numbers",
                label="nobody can compare it",
                help='write for example `version="1.0.0"`',
            )
