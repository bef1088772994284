"""Random programs in the language, as source text over the rules' example shop."""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st

from flowx_compiler.link.sources import SourceFile
from flowx_compiler.rules.examples import shop

HEAD = """\
from typing import Final

from flowx_runtime import Flow, FlowBuilder, FlowContext, Merge, Profile, SubFlowMode, flow
from shop import (
    Channel, JITTERED, JobFinished, JobStatus, Line, OrderPlaced, OrderResult, OutOfStock, PaymentConfirmed,
    PlaceOrder, SAFE_RETRY, TooLate, close_review, job_status, open_review, reserve_line, release_line, start_job,
    validate_order,
)
import shop

LIMIT: Final = 100


def is_express(ctx: FlowContext[PlaceOrder]) -> bool:
    return ctx.input.express


@flow("random.child", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Child(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(open_review).returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))


@flow("random.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class RandomFlow(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
"""

PREDICATES = st.sampled_from(
    ["is_express", "lambda ctx: ctx.input.total > LIMIT", "lambda c: c.input.express and c.input.total > shop.LIMIT"]
).map(lambda text: text.replace("shop.LIMIT", "LIMIT"))
SIMPLE = st.sampled_from(
    [
        "step(validate_order)",
        "step(open_review).compensate_with(close_review)",
        "step(open_review).named({label})",
        "step(start_job).with_policy(SAFE_RETRY)",
        "step(open_review, lambda ctx: ctx.input)",
        'delay("PT1H")',
        "delay(duration=None)".replace("duration=None", '"P1D"'),
        "emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=f'{ctx.input.order_id}-{len(ctx.input.lines)}'))",
        'await_signal(PaymentConfirmed, timeout="P7D")',
        "sub_flow(Child, lambda ctx: ctx.input)",
        "sub_flow(Child, lambda ctx: ctx.input, mode=SubFlowMode.DETACHED)",
    ]
)


def chain(parts: list[str]) -> str:
    return "b." + ".".join(parts) if parts else "b.step(open_review)"


def compound(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    block = st.lists(children, min_size=1, max_size=3).map(lambda parts: f"lambda b: {chain(parts)}")
    ended = block.map(lambda text: f"{text}.fail(TooLate)")
    return st.one_of(
        st.builds("when({}, {})".format, PREDICATES, block),
        st.builds("when({}, {}).otherwise({})".format, PREDICATES, block, block),
        st.builds("switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, {})".format, block),
        st.builds(
            "switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, {})"
            ".case(Channel.WHOLESALE, {}).default({})".format,
            block,
            block,
            ended,
        ),
        st.builds("for_each(lambda ctx: ctx.input.lines, {}, max_concurrency=4)".format, block),
        st.builds('await_signal(PaymentConfirmed, timeout="P7D").on_timeout({})'.format, ended),
        st.builds(
            'poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT4H")'
            ".or_signal(JobFinished).on_timeout({})".format,
            ended,
        ),
        st.builds("parallel(lambda b: {}, merge=Merge.ALL_SETTLED)".format, st.just("b.step(open_review)")),
        st.builds("parallel(validate_order, {})".format, st.just("lambda b: b.step(open_review)")),
    )


CONSTRUCTS = st.recursive(SIMPLE, compound, max_leaves=12)


@st.composite
def flow_sources(draw: st.DrawFn) -> str:
    """A flow module: random constructs, as one chain or as many statements."""
    parts = ["step(start_job)", *draw(st.lists(CONSTRUCTS, min_size=1, max_size=6))]
    labels = 0
    numbered = []
    for part in parts:
        pieces = part.split("{label}")
        text = pieces[0]
        for piece in pieces[1:]:
            text += f'"inner-{labels}"{piece}'
            labels += 1
        numbered.append(text)
    body = "\n".join(f"flow.{part}" for part in numbered) if draw(st.booleans()) else "flow." + ".".join(numbered)
    body += "\nflow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))"
    return HEAD + indent(body, "        ") + "\n"


def files(source: str) -> tuple[SourceFile, ...]:
    return (SourceFile("shop", "shop.py", shop().encode()), SourceFile("flows", "flows.py", source.encode()))
