"""Plans of small flows: a flow body over the rules' example shop, lowered, emitted and loaded."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any

from flowx_compiler.emit.plan_module import emit_plan
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from flowx_compiler.lower.plan_model import PlanModel
from flowx_compiler.rules.examples import shop

IMPORTS = """\
from datetime import timedelta
from typing import Final

from flowx_runtime import Flow, FlowBuilder, FlowContext, Merge, PolicySet, Profile, SubFlowMode, flow
from shop import *
"""


def source(body: str, *, module: str = "", imports: str = "") -> str:
    """The module of one flow, `flows.Small`, whose `define` has this body."""
    return (
        f"{IMPORTS}{imports}\n\n{module}\n\n"
        '@flow("small.flow", version="1.0.0", profile=Profile.DURABLE)\n'
        "class Small(Flow[PlaceOrder, OrderResult]):\n"
        "    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:\n"
        f"{indent(body, '        ')}\n"
        "        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))\n"
    )


def modules(flows: str, **others: str) -> dict[str, str]:
    return {"shop": shop(), **{name.replace("__", "."): text for name, text in others.items()}, "flows": flows}


def model_of(flows: str, **others: str) -> PlanModel:
    files = [
        SourceFile(name, f"{name.replace('.', '/')}.py", text.encode())
        for name, text in modules(flows, **others).items()
    ]
    program = link(Sources.of(files))
    assert program.problems == ()
    return lower(program, program.flows["flows.Small"])


def text_of(flows: str, **others: str) -> str:
    return emit_plan(model_of(flows, **others))


@contextmanager
def imported(flows: str, **others: str) -> Iterator[dict[str, Any]]:
    """The namespace of the plan module, its project imported from text."""
    made = modules(flows, **others)
    packages = {name.rpartition(".")[0] for name in made} - {"", *made}
    for name in sorted({*made, *packages}):
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    try:
        for name, text in made.items():
            exec(compile(text, f"{name}.py", "exec"), sys.modules[name].__dict__)
        sys.modules["plan"] = types.ModuleType("plan")
        exec(compile(text_of(flows, **others), "plan.py", "exec"), sys.modules["plan"].__dict__)
        yield sys.modules["plan"].__dict__
    finally:
        for name in {*made, *packages, "plan"}:
            sys.modules.pop(name, None)


def function_text(text: str, name: str) -> str:
    """One lifted function of a plan module."""
    found = re.search(rf"^(?:@.*\n)*def {name}\(.*?(?=\n\n\n|\n# fmt: on|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no {name} in\n{text}"
    return found[0]
