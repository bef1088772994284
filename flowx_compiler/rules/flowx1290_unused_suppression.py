"""A suppression that covers no finding.

What it detects: an id in `# flowx: ignore[…]` where the rule of that id has nothing to say at what the
directive covers, or an id that no rule has. A directive for a rule that did not run here is left
alone.

Why it matters: It reads as "someone looked at this and it is fine", while what was looked at is gone.
The next finding at the same place would be hidden by a reason that was given for another one.

When to suppress: Never: take the directive away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Directive

RULE = Rule("FLOWX1290", "unused-suppression", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)  # flowx: ignore[FLOWX1014] asked twice is asked once  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(reserve_inventory).compensate_with(release_inventory)
""",
        decorator=(
            "# flowx: ignore[FLOWX1012] a reservation runs out by itself\n"
            '@flow("example.flow", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")'
        ),
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every directive that gives a reason; applying directives takes back those that turn out to cover something."""
    for module in program.modules.values():
        for directive in module.directives:
            if directive.reason:
                for id in directive.ids:
                    yield unused(module.file, directive, id)


def unused(file: str, directive: Directive, id: str) -> Finding:
    """What is said of an id of a directive that covers nothing."""
    return RULE.finding(
        Place(file, directive.span),
        f"this suppression of {id} covers no finding",
        help=f"take {id} away from it",
    )
