"""A step inside a capability that is called otherwise than it was.

What it detects: a label that the committed manifest lists with a capability and that is gone from it, while a flow
that uses the capability still has the version it had. Only `flowx build` looks for it.

Why it matters: A run that was started before the release and had done that step finds no record under the new name,
and does it a second time.

When to suppress: No run can be in that capability when the release goes out, or doing the step again does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.once_examples import paying
from flowx_compiler.rules.rule import WARNING, Rule

RULE = Rule("FLOWX1111", "once-label-gone", WARNING)

INVALID = (
    paying(
        """\
ticket = await ctx.once("take-money", lambda: charge(request.total))
return ManualReview(ticket=ticket)
""",
        is_marked=True,
        formerly="""\
ticket = await ctx.once("charge", lambda: charge(request.total))
return ManualReview(ticket=ticket)
""",
    ),
)

VALID = (
    paying(
        """\
ticket = await ctx.once("charge", lambda: charge(request.total))
more = await ctx.once("confirm", lambda: charge(0))
return ManualReview(ticket=ticket + more)
""",
        formerly="""\
ticket = await ctx.once("charge", lambda: charge(request.total))
return ManualReview(ticket=ticket)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """What building found out: it has the manifest that is committed."""
    return RULE.problems(program)
