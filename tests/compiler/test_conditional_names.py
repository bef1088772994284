"""A name that is bound in several branches is what its module has when it has run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowx_compiler.emit.plan_module import emit_plan
from flowx_compiler.lower import lower
from flowx_compiler.model import Program
from flowx_compiler.rules.examples import example_text, shop
from flowx_compiler.rules.rule import Example

CHOICES = {
    "try": "try:\n    from fast import LIMIT\nexcept ImportError:\n    from slow import LIMIT\n",
    "if": "import sys\n\nif sys.version_info >= (3,):\n    from fast import LIMIT\nelse:\n    from slow import LIMIT\n",
}


@pytest.mark.parametrize("choice", CHOICES)
def test_the_plan_takes_it_from_the_module_that_chose(choice: str, linked: Callable[..., Program]) -> None:
    define = "flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))"
    text = example_text(Example(define, module=CHOICES[choice]))
    program = linked(shop=shop(), example=text, fast="LIMIT = 1\n", slow="LIMIT = 2\n")
    assert program.problems == ()
    plan = emit_plan(lower(program, program.flows["example.Example"]))
    assert "from example import LIMIT" in plan
    assert "from slow" not in plan
    assert "from fast" not in plan


def test_a_named_function_is_held_to_what_a_lambda_is(linked: Callable[..., Program]) -> None:
    module = "def late(ctx: FlowContext[PlaceOrder]) -> bool:\n    return ctx.input.total > LATE\n"
    text = example_text(Example("flow.when(late, lambda b: b.step(open_review))", module=module))
    assert [problem.id for problem in linked(shop=shop(), example=text).problems] == ["FLOWX1275"]


def test_an_awaiting_comprehension_in_a_lambda_is_refused(linked: Callable[..., Program]) -> None:
    text = example_text(Example("flow.when(lambda ctx: [x async for x in ctx] == [], lambda b: b.step(open_review))"))
    assert [problem.id for problem in linked(shop=shop(), example=text).problems] == ["FLOWX1262"]


def test_a_category_that_does_not_exist_is_refused_with_those_that_do(linked: Callable[..., Program]) -> None:
    module = "from flowx_runtime import Category, FlowError\n\n\n"
    module += 'class Bad(FlowError, code="x.bad", category=Category.BUSINESS):\n'
    text = example_text(Example("flow.step(open_review)", module=module + '    """Bad."""\n'))
    (problem,) = linked(shop=shop(), example=text).problems
    assert problem.id == "FLOWX1228"
    assert "Category.CONFLICT" in problem.help
