"""A route that no request can reach, or that two flows want.

What it detects: an `@http_trigger` whose method carries no body, whose path is not made of plain segments, which is
`idempotent` on a flow without a journal, or which another flow has as well.

Why it matters: The application is made from the plans when a service starts. It would refuse to start, in the middle of
a release.

When to suppress: Never: give the flow a route of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Flow, HttpTrigger, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_runtime.plan.routes import route_problem

RULE = Rule("FLOWX1057", "route-cannot-be-served", ERROR)

_OTHER = """\
from flowx_runtime import http_trigger


@flow("example.other", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@http_trigger("POST", "/api/orders")
class Other(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(open_review)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
"""

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        decorator=(
            '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")\n'
            '@http_trigger("GET", "/api/orders")  # <-'
        ),
        module="from flowx_runtime import http_trigger\n",
    ),
    Example(
        """\
flow.step(open_review)
""",
        decorator=(
            '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")\n'
            '@http_trigger("POST", "/api/orders/{id}")  # <-'
        ),
        module="from flowx_runtime import http_trigger\n",
    ),
    Example(
        """\
flow.step(open_review)
""",
        decorator=(
            '@flow("example.flow", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")\n'
            '@http_trigger("POST", "/api/orders", idempotent=True)  # <-'
        ),
        module="from flowx_runtime import http_trigger\n",
    ),
    Example(
        """\
flow.step(open_review)
""",
        decorator=(
            '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")\n'
            '@http_trigger("POST", "/api/orders")  # <-'
        ),
        module=_OTHER,
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
        decorator=(
            '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")\n'
            '@http_trigger("POST", "/api/reviews", idempotent=True)'
        ),
        module=_OTHER,
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every route that a service could not serve; of two flows with one route, the later one's."""
    taken: dict[tuple[str, str], tuple[Flow, HttpTrigger]] = {}
    for flow in sorted(program.flows.values(), key=lambda flow: (flow.place.file, flow.place.span)):
        for trigger in flow.triggers:
            if not isinstance(trigger, HttpTrigger):
                continue
            problem = route_problem(trigger.method.upper(), trigger.route)
            if problem is None and trigger.idempotent and not flow.is_durable:
                problem = f"{flow.id!r} keeps no journal, so no repeated request can be known for one"
            if problem is not None:
                yield RULE.finding(
                    trigger.place,
                    problem,
                    label="cannot be served",
                    help="write for example `POST` and `/api/v1/orders`",
                )
                continue
            owner, first = taken.setdefault((trigger.method.upper(), trigger.route), (flow, trigger))
            if owner.id != flow.id:
                yield RULE.finding(
                    trigger.place,
                    f"{owner.id!r} and {flow.id!r} both want {trigger.method.upper()} {trigger.route}",
                    label="which of them is meant?",
                    help="give this flow a route of its own",
                    related=(Related(first.place, "taken here"),),
                )
