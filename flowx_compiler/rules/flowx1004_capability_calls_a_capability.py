"""A capability that holds or calls another capability.

What it detects: a capability as a constructor parameter or class-level annotation of another, one
that is constructed in another's code, or a function capability that is called from another's code.

Why it matters: What one capability does through another is in no plan: it has no row, no undo, no
policy and no authorization of its own, and the manifest does not know of it.

When to suppress: Never: compose both in a flow, or move what they share to a plain function or
class.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.nodes import calls_in
from flowx_compiler.check.own_code import bodies, held
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Capability, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Attribute, Expr, Name, Span, walk

RULE = Rule("FLOWX1004", "capability-calls-a-capability", ERROR)

INVALID = (
    Example(
        """\
flow.step(both)
""",
        module="""\
@capability("example.both", version="1.0.0", authorization=Internal(), idempotent=True)
async def both(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return await open_review(request, ctx)  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order)
flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every capability that is named where another capability holds or calls it."""
    for capability in program.capabilities.values():
        seen: set[Span] = set()
        for expression, span in _named(program, capability):
            target = program.capabilities.get(qualified(program, capability.module, expression) or "")
            if target is None or span in seen:
                continue
            seen.add(span)
            yield RULE.finding(
                Place(program.modules[capability.module].file, span),
                f"capability {capability.id!r} uses capability {target.id!r} itself",
                label="in no plan: no row, no undo, no policy",
                help="make both steps of a flow, or share a plain function or class",
                related=(Related(target.place, "declared here"),),
            )


def _named(program: Program, capability: Capability) -> Iterator[tuple[Expr, Span]]:
    for body in bodies(capability):
        for call in calls_in(program, body):
            yield call.function, call.function.span
    for annotation, span in () if capability.owner is None else held(capability.owner):
        for node in walk(annotation):
            if isinstance(node, Name | Attribute):
                yield node, span
