"""A flow that derives from another flow.

What it detects: a class with a base, at any distance, that is a flow.

Why it matters: A reader of the derived class does not see the steps it inherits, and neither does a
person who reviews its plan next to it.

When to suppress: Never: extract what they share into a sub-flow, or into block functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.own_code import classes
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Call, Class, Expr, Subscript

RULE = Rule("FLOWX1005", "flow-derives-from-a-flow", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        module="""\
@flow("example.base", version="1.0.0")
class Base(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(open_review)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
""",
        header="class Example(Base):  # <-",
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
    """Every class below a flow."""
    known = classes(program)
    for name, (module, syntax) in known.items():
        flow = _flow_above(program, known, name, frozenset())
        if flow is not None:
            yield RULE.finding(
                Place(program.modules[module].file, syntax.name_span),
                f"{syntax.name} derives from the flow {flow.name}",
                label="inherits steps that are not seen here",
                help="write `Flow[Input, Output]` as its base, and compose what they share with `.sub_flow(…)`",
            )


def _flow_above(program: Program, known: dict[str, tuple[str, Class]], name: str, seen: frozenset[str]) -> Class | None:
    module, syntax = known[name]
    for base in syntax.bases:
        expression = base.value.value if isinstance(base.value, Subscript) else base.value
        above = qualified(program, module, expression) or ""
        if above not in known or above in seen or base.keyword is not None:
            continue
        home, parent = known[above]
        if any(_is_flow_decorator(program, home, decorator) for decorator in parent.decorators):
            return parent
        further = _flow_above(program, known, above, seen | {name})
        if further is not None:
            return further
    return None


def _is_flow_decorator(program: Program, module: str, decorator: Expr) -> bool:
    target = decorator.function if isinstance(decorator, Call) else decorator
    return qualified(program, module, target) == "flowx_runtime.flow"
