"""An authorization that does not say which.

What it detects: `Permission(…)` without the name of a permission, and `Public(…)` without who
approved it; a blank text counts as none.

Why it matters: The manifest would claim protection by nothing, and a comparison of two manifests
could not see that the permission changed.

When to suppress: Never: write the name, or an honest weaker stance.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1030", "stance-without-its-name", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(open_door)
""",
        module="""\
from flowx_runtime import Permission


@capability("example.open", version="1.0.0", authorization=Permission(""), idempotent=True)  # <-
async def open_door(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_door)
""",
        module="""\
from flowx_runtime import Permission


@capability("example.open", version="1.0.0", authorization=Permission("doors.open"), idempotent=True)
async def open_door(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)


_MISSING = {
    "permission": ("which permission", 'write it as a literal: `Permission("orders.write")`'),
    "public": ("who approved it", 'write it as a literal: `Public(approved_by="…")`'),
}


def check(program: Program) -> Iterator[Finding]:
    """Every stance whose name is missing or blank."""
    for capability in program.capabilities.values():
        stance = capability.stance
        if stance is None or stance.kind not in _MISSING or (stance.argument or "").strip():
            continue
        what, advice = _MISSING[stance.kind]
        yield RULE.finding(
            stance.place,
            f"capability {capability.id!r} is `{stance.kind.capitalize()}` and does not say {what}",
            label="protects nothing that has a name",
            help=advice,
        )
