"""A flow over the shop of the rules' examples, with one definition put in, and what linking said of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from textwrap import dedent, indent

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.model import Flow, Problem, Program
from flowx_compiler.read.module import read_module
from flowx_compiler.rules.examples import shop
from flowx_compiler.syntax import Module

_IMPORTS = """\
from datetime import datetime, timedelta
from functools import cache, partial

from flowx_runtime import Backoff, Contract, Flow, FlowContext, Internal, Merge, PolicySet, Profile, StepContext
from flowx_runtime import SubFlowMode, capability, flow
from shop import *
import shop
"""
_SHOP = SourceFile("shop", "shop.py", shop().encode())
DECORATOR = '@flow("order.place", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")'
HEADER = "class OrderFlow(Flow[PlaceOrder, OrderResult]):"
RETURNS = 'flow.returns(lambda ctx: OrderResult(order_id="1"))'


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked program with one flow."""

    program: Program

    @property
    def flow(self) -> Flow:
        """The flow."""
        return self.program.flows["orders.OrderFlow"]

    @property
    def problems(self) -> list[str]:
        """Each problem as its id and the text it points at, in the order of the source."""
        return [f"{problem.id[5:]} {self.text(problem)}" for problem in self.ordered]

    @property
    def ordered(self) -> list[Problem]:
        """The problems in the order of the source."""
        return sorted(self.program.problems, key=lambda problem: (problem.place.file, problem.place.span))

    def text(self, problem: Problem) -> str:
        """The first line of what a problem points at."""
        span = problem.place.span
        line = self.program.modules[problem.place.file.removesuffix(".py")].lines[span.line - 1]
        return line[span.column - 1 : span.end_column - 1 if span.end_line == span.line else None]


def link_flow(
    define: str,
    module: str = "",
    *,
    decorator: str = DECORATOR,
    header: str = HEADER,
    returns: str = RETURNS,
) -> Linked:
    """Link a flow whose definition is `define`, after module-level code."""
    body = indent(f"{dedent(define).strip()}\n{returns}".rstrip(), " " * 8)
    text = f"{_IMPORTS}{dedent(module)}\n{decorator}\n{header}\n    def define(self, flow) -> None:\n{body}\n"
    sources = Sources.of((_SHOP, SourceFile("orders", "orders.py", text.encode())))
    sources.read["shop"] = _read_shop()
    return Linked(link(sources))


@cache
def _read_shop() -> Module:
    return read_module(_SHOP.module, _SHOP.file, _SHOP.source, is_package=False)
