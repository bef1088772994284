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


EXPORTS = {
    "more is added": '__all__ = ["X"]\n__all__ += ["LIMIT"]\n',
    "a sum": '__all__ = ["X"] + ["Y"]\n',
    "another module's": "import slow\n__all__ = [*slow.__all__]\n",
    "a call": '__all__ = ["X"]\n__all__.append("LIMIT")\n',
    "one of two": 'import sys\nif sys.argv:\n    __all__ = ["X"]\nelse:\n    __all__ = ["LIMIT"]\n',
}


@pytest.mark.parametrize("exports", EXPORTS)
def test_what_an_export_that_is_worked_out_gives_is_what_the_module_has(
    exports: str, linked: Callable[..., Program]
) -> None:
    define = "flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))"
    text = example_text(Example(define, module="from slow import LIMIT\nfrom fast import *"))
    program = linked(shop=shop(), example=text, fast=f"LIMIT = 1\n{EXPORTS[exports]}", slow="LIMIT = 2\n")
    assert program.problems == ()
    plan = emit_plan(lower(program, program.flows["example.Example"]))
    assert "from example import LIMIT" in plan
    assert "from fast" not in plan
    assert "from slow" not in plan


@pytest.mark.parametrize("is_first", [True, False])
def test_what_only_checkers_import_is_no_match_for_what_runs(is_first: bool, linked: Callable[..., Program]) -> None:
    imports = [
        "from slow import LIMIT\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fast import LIMIT\n",
    ]
    define = "flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))"
    text = example_text(Example(define, module="".join(imports[:: -1 if is_first else 1])))
    program = linked(shop=shop(), example=text, fast="LIMIT = 1\n", slow="LIMIT = 2\n")
    assert program.problems == ()
    assert "from slow import LIMIT" in emit_plan(lower(program, program.flows["example.Example"]))


def test_two_functions_of_one_name_are_not_told_apart_by_where_they_stand(linked: Callable[..., Program]) -> None:
    define = """\
def more(b):
    b.step(open_review)
flow.when(lambda ctx: ctx.input.total > 1, more)
def more(b):
    b.step(start_job)
flow.when(lambda ctx: ctx.input.total > 2, more)
"""
    program = linked(shop=shop(), example=example_text(Example(define)))
    assert [problem.id for problem in program.problems] == ["FLOWX1212"]
    assert "a second function is called `more`" in program.problems[0].message


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
