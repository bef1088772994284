"""A map that gives another contract than the one that is taken.

What it detects: the request map of a step or sub-flow, the payload of `emit` or the projection of
`returns`, where what it constructs or reads is not the declared contract or one that derives from
it.

Why it matters: The step would fail on every run, when its request is built.

What it cannot prove: what a call of an unannotated function gives; the runtime checks that when it
happens.

When to suppress: Never: build what is declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.value_types import given_types, is_kind_of
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import DataFunction, Flow, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1029", "map-gives-another-contract", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review, lambda ctx: Capture(reference=ctx.input.order_id))  # <-
""",
    ),
    Example(
        """\
flow.step(open_review)
flow.returns(lambda ctx: ctx.get(ManualReview))  # <-
""",
        returns=False,
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review, lambda ctx: ctx.input)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every map whose answer is known and is another contract."""
    for flow in program.flows.values():
        for function, wanted, taker in _maps(program, flow):
            for given, answer in given_types(program, flow, function) or ():
                if is_kind_of(program, given, wanted) is False:
                    short = wanted.rpartition(".")[2]
                    yield RULE.finding(
                        Place(program.modules[function.module].file, answer.span),
                        f"{taker} takes {short}, and this gives {given.rpartition('.')[2]}",
                        label=f"not a {short}",
                        help=f"build the contract that is taken: `{short}(…)`",
                    )


def _maps(program: Program, flow: Flow) -> Iterator[tuple[DataFunction, str, str]]:
    emits = list(flow.on_failure)
    for construct in constructs(flow.body):
        match construct:
            case model.Step(request=request, capability=reference) if request is not None:
                yield request, reference.capability.request.name, f"{reference.capability.id!r}"
            case model.SubFlow(request=request, flow=child) if child in program.flows:
                yield request, program.flows[child].input.name, f"{program.flows[child].id!r}"
            case model.Emit():
                emits.append(construct)
            case _:
                pass
    for emit in emits:
        yield emit.payload, emit.event.contract, f"event {emit.event.id!r}"
    if flow.returns is not None and flow.output.name != "None":
        yield flow.returns, flow.output.name, f"the result of {flow.id!r}"
