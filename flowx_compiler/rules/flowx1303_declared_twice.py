"""Two declarations with one identity.

What it detects: two flows, capabilities or events with the same id and version, or two signals with
the same id, anywhere below one import root.

Why it matters: Rows, plans and messages name them by id. Which of the two is meant would depend on
what was loaded last.

When to suppress: Never: give one of them its own id, or a new version.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Module

RULE = Rule("FLOWX1303", "declared-twice", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        module="""\
@capability("example.open", version="1.0.0", authorization=Internal(), idempotent=True)
async def one(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")


@capability("example.open", version="1.0.0", authorization=Internal(), idempotent=True)  # <-
async def other(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every declaration after the first one with its identity, in order of file and line."""
    kinds: tuple[tuple[str, list[tuple[str, Place]]], ...] = (
        ("flow", [(f"{flow.id!r} {flow.version}", flow.place) for flow in program.flows.values()]),
        ("capability", [(f"{item.id!r} {item.version}", item.place) for item in program.capabilities.values()]),
        ("event", [(f"{event.id!r} {event.version}", event.place) for event in program.events.values()]),
        ("signal", [(f"{signal.id!r}", signal.place) for signal in program.signals.values()]),
    )
    roots = {module.file: _import_root(module) for module in program.modules.values()}
    for kind, declared in kinds:
        first: dict[tuple[str, str], Place] = {}
        for identity, place in sorted(declared, key=lambda item: (item[1].file, item[1].span)):
            earlier = first.setdefault((roots.get(place.file, ""), identity), place)
            if earlier is not place:
                yield RULE.finding(
                    place,
                    f"{kind} {identity} is declared twice",
                    label="which of them is meant?",
                    help="give this one its own id, or a new version",
                    related=(Related(earlier, "declared here first"),),
                )


def _import_root(module: Module) -> str:
    """The folder a module is imported from: projects checked in one go are applications of their own."""
    path = module.name.replace(".", "/")
    return module.file.removesuffix("/__init__.py").removesuffix(".py").removesuffix(path)
