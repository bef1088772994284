"""Lifted code means in the plan module what it means where its author wrote it."""

from __future__ import annotations

import ast

import pytest

from tests.compiler.small_plans import function_text, imported, source, text_of

WHEN = "flow.when(lambda ctx: {}, lambda b: b.step(open_review))\nflow.step(start_job)"
LIMITS = """\
from datetime import timedelta
from typing import Final

LIMIT: Final = 100
WAIT: Final = "PT2H"


def above(total: int, /, *, by: int = 0) -> bool:
    return total > LIMIT + by


class Bounds:
    class Upper:
        VALUE = 7
"""


def predicate(expression: str, *, module: str = "", imports: str = "") -> str:
    return function_text(
        text_of(source(WHEN.format(expression), module=module, imports=imports), limits=LIMITS), "when_0"
    )


def meaning(expression: str) -> str:
    indented = expression.replace("\n", "\n        ")  # as `source` indents the body of `define`, strings included
    return ast.dump(ast.parse(f"({indented})", mode="eval").body)


def returned_meaning(function: str) -> str:
    (definition,) = ast.parse(function).body
    assert isinstance(definition, ast.FunctionDef)
    (statement,) = definition.body
    assert isinstance(statement, ast.Return)
    assert statement.value is not None
    return ast.dump(statement.value)


EXPRESSIONS = [
    "ctx.input.express",
    "ctx.input.total > 1 and not ctx.input.express or ctx.input.order_id == 'a'",
    "(ctx.input.express)",
    "(total := ctx.input.total)",
    "(line for line in ctx.input.lines)",
    "(1, *ctx.input.lines)",
    "()",
    "(\n    # why\n    ctx.input.express\n    and ctx.input.total > 3  # how much\n)",
    'ctx.input.order_id in ("a",)',
    'ctx.input.order_id in ["a", "b",]',
    "ctx.input.order_id[1:] == ctx.input.order_id[::2]",
    "ctx.input.total ** -2 > -1 ** 2",
    "bool(\n    ctx.input.order_id\n    .strip()\n    .lower()\n)",
    'ctx.input.order_id == "a" "b"\n"c"',
    "ctx.input.order_id == '''two\n    lines'''",
    "f'{ctx.input.order_id!r:>{10}} {{x}}' == 'x'",
    'f"{ctx.input.lines[0].sku}" != r"\\d" and b"x" == b\'\\x00\'',
    "any((lambda total: total > 1)(line.quantity) for line in ctx.input.lines if line.quantity)",
    "(total := ctx.input.total) > 3 and total < 9",
    "{key: value for key, value in zip([1], [2])} == {1: 2, **{3: 4}} != {*()}",
    "[*range(3)] == [a + b for a in (1, 2) for b in (a, 3)]",
    "bool(dict(a=1, *[], **{}))",
    "1 if ctx.input.express else 0x_ff",
    "ctx.input.total < 1 < 2 != 3 is not None",
    "bool(ctx.input.lines[0, ...])",
    "-ctx.input.total + ~1 - +2 @ 3 // 4 % 5 << 6 >> 7 & 8 | 9 ^ 10 < 1.5e-3j",
    "(lambda *a, b=1, **c: (a, b, c))(1, b=2) == ()",
    "bool(ctx.input.lines and (ctx.input.lines[0].sku, ctx.input.lines[0].quantity, 'a long text to fill the line'))",
    "ctx.input.order_id == 'a text that is much too long for one line ' + ctx.input.order_id + ctx.input.order_id",
    'ctx.input.order_id == "it\'s \\" quoted" or "é\\u00e9\\N{BULLET}" == ""',
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_keeps_its_meaning_whatever_its_layout(expression: str) -> None:
    assert returned_meaning(predicate(expression)) == meaning(expression)


def test_a_name_is_imported_from_the_module_that_defines_it() -> None:
    text = text_of(
        source(WHEN.format("ctx.input.total > TOP"), imports="from limits import LIMIT as TOP\n"), limits=LIMITS
    )
    assert "from limits import LIMIT\n" in text
    assert "return ctx.input.total > LIMIT" in text


@pytest.mark.parametrize(
    ("imports", "expression"),
    [
        ("import limits\n", "limits.LIMIT > 1"),
        ("import limits as bounds\n", "bounds.LIMIT > 1"),
        ("import pricing.limits\n", "pricing.limits.LIMIT > 1"),
        ("import pricing.limits as bounds\n", "bounds.LIMIT > 1"),
        ("from pricing import limits as bounds\n", "bounds.LIMIT > 1"),
        ("from pricing.limits import *\n", "LIMIT > 1 and above(3, by=2)"),
        ("from pricing.limits import Bounds as Edge\n", "Edge.Upper.VALUE > 1"),
        ("import collections.abc as kinds, json\n", "isinstance(json.dumps([]), kinds.Sized)"),
        ("import os.path\n", "os.path.sep == os.sep"),
    ],
)
def test_every_way_to_import_a_name_is_followed(imports: str, expression: str) -> None:
    flows = source(WHEN.format(expression), imports=imports)
    with imported(flows, limits=LIMITS, pricing__limits=LIMITS) as namespace:
        assert namespace["when_0"](None) in (True, False)


def test_a_local_name_never_captures_what_is_imported() -> None:
    body = WHEN.format("[LIMIT for LIMIT in (1, 2)] == [1, 2] and TOP == 100")
    with imported(source(body, imports="from limits import LIMIT as TOP\n"), limits=LIMITS) as namespace:
        assert namespace["when_0"](None) is True


def test_the_context_parameter_may_be_called_anything() -> None:
    body = "flow.when(lambda LIMIT: LIMIT == TOP, lambda b: b.step(open_review))\nflow.step(start_job)"
    with imported(source(body, imports="from limits import LIMIT as TOP\n"), limits=LIMITS) as namespace:
        assert namespace["when_0"](100) is True


def test_authors_names_that_the_plan_module_needs_itself_get_another_spelling() -> None:
    names = ("when_0", "Step", "PLAN", "REVIEW_OPEN", "returns", "Final", "duration", "len")
    module = "\n".join(f"{name} = {number}" for number, name in enumerate(names) if name != "Final")
    total = " + ".join(name for name in names if name != "Final")
    with imported(source(WHEN.format(f"{total} == 23"), module=module)) as namespace:
        branch = namespace["PLAN"].nodes[0]
        assert branch.predicate(None) is True
        assert branch.predicate.__name__ == "when_0_2"


def test_same_names_of_two_modules_stay_apart() -> None:
    imports = "from limits import LIMIT\nfrom other import LIMIT as OTHER\n"
    flows = source(WHEN.format("(LIMIT, OTHER) == (100, 1)"), imports=imports)
    with imported(flows, limits=LIMITS, other="LIMIT = 1\n") as namespace:
        assert namespace["when_0"](None) is True


def test_a_function_of_a_module_is_imported_and_a_nested_one_is_moved() -> None:
    module = "def is_express(ctx: FlowContext[PlaceOrder]) -> bool:\n    return ctx.input.express"
    body = (
        "def is_large(ctx: FlowContext[PlaceOrder]) -> bool:\n"
        '    """Larger than the limit."""\n'
        "    # counted without tax\n"
        '    text = """first\n  second\n"""\n'
        "    return ctx == text + str(LIMIT)\n"
        "flow.when(is_express, lambda b: b.step(open_review))\n"
        "flow.when(is_large, lambda b: b.step(open_review))"
    )
    flows = source(body, module=module, imports="from limits import LIMIT\n")
    with imported(flows, limits=LIMITS) as namespace:
        first, _, second, _ = namespace["PLAN"].nodes
        assert first.predicate.__module__ == "flows"
        assert second.predicate.__name__ == "when_2"
        # A line inside a string does not move with the code around it; `define` indents these by eight.
        assert second.predicate("first\n          second\n        100") is True
    assert function_text(text_of(flows, limits=LIMITS), "when_2").splitlines()[1:4] == [
        '    """Larger than the limit."""',
        "    # counted without tax",
        '    text = """first',
    ]


def test_a_moved_function_keeps_its_decorators() -> None:
    module = "def negated(function):\n    return lambda ctx: not function(ctx)"
    body = (
        "@negated\n"
        "def is_small(ctx: FlowContext[PlaceOrder]) -> bool:\n"
        "    @negated\n"
        "    def inner(value: int) -> bool:\n"
        "        return value == 1\n"
        "    return inner(ctx)\n"
        "flow.when(is_small, lambda b: b.step(open_review))\nflow.step(start_job)"
    )
    with imported(source(body, module=module)) as namespace:
        assert namespace["when_0"](1) is True


def test_code_of_a_block_in_another_module_means_what_it_means_there() -> None:
    blocks = (
        "from flowx_runtime import FlowBuilder\nfrom shop import *\n\nLIMIT = 5\n\n\n"
        "def review(b: FlowBuilder[PlaceOrder, OrderResult]) -> None:\n"
        "    b.when(lambda ctx: ctx == LIMIT, lambda c: c.step(open_review))\n"
    )
    body = "flow.when(lambda ctx: ctx == LIMIT, review)\nflow.step(start_job)"
    with imported(
        source(body, imports="from limits import LIMIT\nfrom blocks import review\n"), limits=LIMITS, blocks=blocks
    ) as namespace:
        outer, inner, *_ = namespace["PLAN"].nodes
        assert [outer.predicate(100), outer.predicate(5), inner.predicate(5)] == [True, False, True]


def test_constants_stay_expressions_in_the_plan() -> None:
    module = (
        'BUDGET: Final = timedelta(hours=4)\nPAUSE: Final = "PT5M"\n'
        'CAREFUL: Final = PolicySet("careful", timeout="PT2S")'
    )
    body = (
        "flow.step(start_job).with_policy(CAREFUL)\n"
        "flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout=BUDGET)\n"
        "flow.delay(PAUSE)\nflow.delay(limits.WAIT)\nflow.delay(timedelta( days = 1 ))\nflow.delay('PT1M')"
    )
    flows = source(body, module=module, imports="import limits\n")
    text = text_of(flows, limits=LIMITS)
    for expected in (
        "policy=CAREFUL",
        "interval=JITTERED",
        "timeout=duration(BUDGET)",
        "duration=duration(PAUSE)",
        "duration=duration(limits.WAIT)",
        "duration=timedelta(days=1)",
        'duration=duration("PT1M")',
    ):
        assert expected in text
    with imported(flows, limits=LIMITS) as namespace:
        waits = [node.duration.total_seconds() for node in namespace["PLAN"].nodes[3:]]
        assert waits == [300, 7200, 86400, 60]


def test_a_parametrized_contract_is_the_class_it_is() -> None:
    module = (
        "from typing import Generic, TypeVar\n\n"
        "from flowx_runtime import Contract, Internal, StepContext, capability\n\n"
        'T = TypeVar("T")\n\n\nclass Page(Contract, Generic[T]):\n    items: tuple[T, ...]\n\n\n'
        '@capability("page.read", version="1.0.0", authorization=Internal())\n'
        "async def read_page(request: PlaceOrder, ctx: StepContext) -> Page[Line]: ..."
    )
    with imported(source("flow.step(read_page)", module=module)) as namespace:
        result = namespace["PLAN"].nodes[0].capability.result
        assert result is namespace["Page"][namespace["Line"]]
