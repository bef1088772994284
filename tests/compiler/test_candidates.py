"""Which files are read: every one that can declare something, and few others."""

from __future__ import annotations

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.read.imports import Taken, find_imports

FLOW = """

class Request(Contract):
    order_id: str


@flow("order.place", version="1.0.0", deadline="PT1M")
class PlaceOrder(Flow[Request, Request]):
    def define(self, flow: FlowBuilder[Request, Request]) -> None:
        flow.returns(lambda ctx: ctx.input)
"""
NAMES = "Contract, Flow, FlowBuilder, flow"


def sources(**modules: str) -> Sources:
    packages = {"acme", "acme__orders"}
    return Sources.of(
        SourceFile(name.replace("__", "."), f"{name}.py", text.encode(), is_package=name in packages)
        for name, text in modules.items()
    )


def through(module: str) -> str:
    """The flow with every name of the runtime reached through a module."""
    text = FLOW.replace("@flow", f"@{module}.flow").replace("(Flow[", f"({module}.Flow[")
    return text.replace("(Contract)", f"({module}.Contract)").replace(": FlowBuilder", f": {module}.FlowBuilder")


@pytest.mark.parametrize(
    ("base", "package", "line"),
    [
        pytest.param(f"from flowx_runtime import {NAMES}", "", f"from acme.base import {NAMES}", id="by name"),
        pytest.param("from flowx_runtime import *", "", "from acme.base import *", id="by star"),
        pytest.param(f"from flowx_runtime import {NAMES}", "from .base import *", "from acme import *", id="two hops"),
        pytest.param(
            f"from flowx_runtime import {NAMES}",
            f"from acme.base import (  # (all)\n    {NAMES},\n)",
            f"from . import \\\n    {NAMES}",
            id="relative, over two lines",
        ),
        pytest.param("import flowx_runtime as rt", "", "from .base import rt", id="module alias"),
    ],
)
def test_a_flow_that_takes_the_runtime_from_a_module_of_the_project_is_found(
    base: str, package: str, line: str
) -> None:
    flow = through("rt") if line.endswith("rt") else FLOW

    program = link(sources(acme=package, acme__base=base, acme__placing=line + flow))

    assert [flow.id for flow in program.flows.values()] == ["order.place"]


def test_a_flow_that_takes_a_module_through_another_name_is_found() -> None:
    program = link(
        sources(
            acme="from acme.base import nothing\nfrom acme import base as foundation",
            acme__base=f"from flowx_runtime import {NAMES}\nnothing = 0",
            acme__placing="from acme import foundation as f" + through("f"),
        )
    )

    assert list(program.flows) == ["acme.placing.PlaceOrder"]


def test_a_file_that_takes_nothing_of_the_runtime_is_not_read() -> None:
    found = sources(
        acme="",
        acme__base=f"from flowx_runtime import {NAMES}\nRATE = 3",
        acme__web="from acme.base import RATE\nimport json\n\nflow = Flow = RATE",
        acme__plain="import os.path\n",
    )

    link(found)

    assert sorted(found.read) == ["acme.base"]


def test_imports_are_found_however_they_are_spelt() -> None:
    source = b"import a.b as c, d # e\nfrom .x import (f, # )\n  g as h)\nif t: from .. import i; import \\\n j\n"

    found = find_imports(SourceFile("p.q.m", "p/q/m.py", source))

    assert found == {
        Taken("a.b", None),
        Taken("d", None),
        Taken("p.q.x", "f"),
        Taken("p.q.x", "g"),
        Taken("p", "i"),
        Taken("j", None),
    }
