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
    "if": "import sys\n\nif sys.version_info >= (3, 0):\n    from fast import LIMIT\nelse:\n    from slow import LIMIT\n",
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
