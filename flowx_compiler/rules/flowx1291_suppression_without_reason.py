"""A suppression that does not say why.

What it detects: `# flowx: ignore[…]` with no words after the bracket, or with no id in it. Such a
directive suppresses nothing.

Why it matters: A finding is hidden from everyone who comes later. The reason is all they have to judge
whether it still holds.

When to suppress: Never: write the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1291", "suppression-without-reason", WARNING)

INVALID = (
    Example(
        """\
flow.step(validate_order)  # flowx: ignore[FLOWX1014]  # <-
""",
    ),
    Example(
        """\
flow.step(validate_order)  # flowx: ignore[] all of it is fine  # <-
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
    """Every directive that lacks its reason or its ids."""
    for module in program.modules.values():
        for directive in module.directives:
            place = Place(module.file, directive.span)
            if not directive.reason:
                yield RULE.finding(
                    place,
                    f"this suppression of {', '.join(directive.ids) or 'nothing'} gives no reason and covers nothing",
                    help="write why after the bracket: `# flowx: ignore[FLOWX1012] the undo is best effort here`",
                )
            elif not directive.ids:
                yield RULE.finding(
                    place,
                    "this suppression names no rule in `ignore[]`, and so covers nothing",
                    help="write the id of what it suppresses in the bracket: `# flowx: ignore[FLOWX1012] why`",
                )
