"""Names and false alarms: what other tools got wrong, one test per number (A1 to A17)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import Sources
from flowx_compiler.model import Program
from flowx_compiler.rules.examples import example_files, shop
from flowx_compiler.rules.registry import find_rule
from flowx_compiler.rules.rule import Example
from flowx_compiler.rules.run import run_rules

CAPABILITY = """\
from flowx_runtime import Contract, Internal, StepContext, capability

class Request(Contract):
    name: str

class Result(Contract):
    name: str

@capability("payment.charge", version="1.0.0", authorization=Internal(), idempotent=True)
async def Charge(request: Request, ctx: StepContext) -> Result:
    return Result(name=request.name)

@capability("payment.charge_card", version="1.0.0", authorization=Internal(), idempotent=True)
async def ChargeCard(request: Request, ctx: StepContext) -> Result:
    return Result(name=request.name)
"""
FLOW = """\
{imports}

@flow("{id}", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class {name}(Flow[Request, Result]):
    def define(self, flow: FlowBuilder[Request, Result]) -> None:
        flow.step({step})
        flow.returns(lambda ctx: ctx.get(Result))
"""
RUNTIME = "from flowx_runtime import Flow, FlowBuilder, Profile, flow\n"


def found(example: Example) -> list[tuple[str, int]]:
    program = link(Sources.of(example_files(example)))
    return [(item.id, item.place.span.line) for item in run_rules(program) if item.place.file == "example.py"]


def flow_text(imports: str, *, step: str = "Charge", id: str = "order.pay", name: str = "Pay") -> str:
    return FLOW.format(imports=imports, id=id, name=name, step=step)


def ids(program: Program) -> set[str]:
    return {finding.id for finding in run_rules(program)}


def steps(program: Program, flow: str) -> list[str]:
    return [step.capability.capability.id for step in program.flows[flow].body.constructs]  # type: ignore[union-attr]


def test_a01_the_context_s_own_members_are_never_ambient() -> None:
    define = """\
flow.step(open_review, lambda ctx: ctx.input)
flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line).compensate_with(release_line))
flow.when(lambda ctx: ctx.utc_now.hour < 12 and ctx.find(ManualReview) is not None, lambda b: b.step(start_job))
flow.when(lambda ctx: len(ctx.results(ManualReview)) > 0, lambda b: b.step(validate_order))
flow.emit_on_failure(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.error.code))
"""
    assert not {id for id, _ in found(Example(define))} & {"FLOWX1007", "FLOWX1008", "FLOWX1011"}


def test_a03_an_ambient_read_in_a_lambda_is_reported_on_its_line() -> None:
    example = Example(
        "flow.when(\n    lambda ctx: (\n        time.time() > 0\n    ),\n    lambda b: b.step(open_review),\n)",
        module="import time\n",
    )
    program = link(Sources.of(example_files(example)))
    (finding,) = [item for item in run_rules(program) if item.id == "FLOWX1011"]
    line = program.modules["example"].lines[finding.place.span.line - 1]
    assert "time.time()" in line
    assert len(finding.related) <= 5


def test_a04_an_ambient_read_behind_a_helper_is_reported_with_the_way_there() -> None:
    example = Example(
        "flow.when(lambda ctx: is_morning(), lambda b: b.step(open_review))",
        module="from datetime import datetime\n\n\ndef is_morning() -> bool:\n    return hour() < 12\n\n\n"
        "def hour() -> int:\n    return datetime.now().hour\n",
    )
    program = link(Sources.of(example_files(example)))
    (finding,) = [item for item in run_rules(program) if item.id == "FLOWX1011"]
    assert finding.related
    assert len(finding.related) <= 5
    through_a_package = Example(
        "flow.when(lambda ctx: acme_vendor.is_morning(), lambda b: b.step(open_review))", module="import acme_vendor\n"
    )
    assert found(through_a_package) == []


def test_a05_the_later_binding_of_a_name_wins(linked: Callable[..., Program]) -> None:
    text = "cap = None\nfrom flowx_runtime import capability as cap\n" + CAPABILITY.replace("@capability", "@cap")
    assert len(linked(caps=text).capabilities) == 2


@pytest.mark.parametrize(
    "export",
    [
        "from flowx_runtime import Flow",
        "from flowx_runtime import Flow as Flow",
        "from flowx_runtime import *\n__all__ = ['Flow']",
    ],
)
def test_a06_a_base_that_is_re_exported_is_found(export: str, linked: Callable[..., Program]) -> None:
    orders = flow_text(
        "from acme.base import Flow\nfrom flowx_runtime import FlowBuilder, Profile, flow\n"
        "from acme.caps import Charge, Request, Result"
    )
    program = linked(acme__base=export, acme__caps=CAPABILITY, acme__orders=orders)
    assert steps(program, "acme.orders.Pay") == ["payment.charge"]
    assert program.problems == ()


def test_a07_three_roads_to_one_capability_give_one_id(linked: Callable[..., Program]) -> None:
    relative = flow_text(RUNTIME + "from .caps import Charge, Request, Result", id="a.a", name="A")
    absolute = flow_text(RUNTIME + "from acme.caps import Charge, Request, Result", id="a.b", name="B")
    same_file = CAPABILITY + flow_text(RUNTIME, id="a.c", name="C").replace("payment", "payment")
    program = linked(acme__caps=CAPABILITY, acme__a=relative, acme__b=absolute)
    assert steps(program, "acme.a.A") == steps(program, "acme.b.B") == ["payment.charge"]
    assert steps(linked(acme__c=same_file), "acme.c.C") == ["payment.charge"]


def test_a08_a_variable_named_like_the_package_is_not_it(linked: Callable[..., Program]) -> None:
    text = "class Fake:\n    def capability(self, *a: object, **k: object) -> object: ...\n\nflowx = Fake()\n\n"
    text += '@flowx.capability("x.y", version="1.0.0")\nasync def act(request: object, ctx: object) -> None: ...\n'
    program = linked(app=text)
    assert program.capabilities == {}
    assert program.problems == ()


def test_a09_the_same_names_in_two_packages_never_collide(linked: Callable[..., Program]) -> None:
    other = CAPABILITY.replace("payment.", "refund.")
    one = flow_text(RUNTIME + "from .x import Charge, Request, Result", id="a.a", name="A")
    two = flow_text(RUNTIME + "from .x import Charge, Request, Result", id="b.b", name="B")
    program = linked(a__x=CAPABILITY, b__x=other, a__flows=one, b__flows=two)
    assert steps(program, "a.flows.A") == ["payment.charge"]
    assert steps(program, "b.flows.B") == ["refund.charge"]


def test_a10_a_name_that_begins_like_another_stays_apart(linked: Callable[..., Program]) -> None:
    imports = RUNTIME + "from caps import Charge, ChargeCard, Request, Result"
    program = linked(caps=CAPABILITY, flows=flow_text(imports, step="ChargeCard"))
    assert steps(program, "flows.Pay") == ["payment.charge_card"]


def test_a11_a_capability_bound_in_two_branches_is_one_finding(linked: Callable[..., Program]) -> None:
    imports = RUNTIME + "from caps import Request, Result\ntry:\n    from caps import Charge\n"
    imports += "except ImportError:\n    from caps import ChargeCard as Charge\n"
    program = linked(caps=CAPABILITY, flows=flow_text(imports))
    assert [finding.id for finding in run_rules(program)] == ["FLOWX1276"]


def test_a12_what_a_checker_alone_sees_gives_way_to_what_runs(linked: Callable[..., Program]) -> None:
    imports = RUNTIME + "from typing import TYPE_CHECKING\nfrom caps import Request, Result\nif TYPE_CHECKING:\n"
    imports += "    from caps import ChargeCard as Charge\nelse:\n    from caps import Charge\n"
    program = linked(caps=CAPABILITY, flows=flow_text(imports))
    assert steps(program, "flows.Pay") == ["payment.charge"]


def test_a13_a_package_that_is_not_installed_stops_nothing(linked: Callable[..., Program]) -> None:
    imports = RUNTIME + "import nowhere_to_be_found\nfrom nowhere_to_be_found.deep import Thing\n"
    imports += "from caps import Charge, Request, Result"
    assert run_rules(linked(caps=CAPABILITY, flows=flow_text(imports))) == ()


def test_a14_declarations_beside_the_flow_give_no_finding(linked: Callable[..., Program]) -> None:
    assert run_rules(linked(app=CAPABILITY + flow_text(RUNTIME))) == ()


INNER = {
    "step": "step(open_review)",
    "when": "when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))",
    "switch": "switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, lambda b: b.step(open_review))",
    "parallel": "parallel(open_review, validate_order)",
    "for_each": "for_each(lambda ctx: ctx.input.lines, lambda b: b.step(reserve_line).compensate_with(release_line))",
    "sub_flow": "sub_flow(Child, lambda ctx: ctx.input)",
    "await_signal": 'await_signal(PaymentConfirmed, timeout="P1D")',
    "delay": 'delay("PT1H")',
    "poll_until": "step(start_job).poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, "
    'interval=JITTERED, timeout="PT1H")',
    "emit": "emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))",
    "fail": "fail(TooLate)",
}
OUTER = {
    "when": "when(lambda ctx: ctx.input.total > 1, lambda b: b.{inner})",
    "otherwise": "when(lambda ctx: ctx.input.total > 1, lambda b: b.step(close_review, make))"
    ".otherwise(lambda b: b.{inner})",
    "case": "switch(lambda ctx: ctx.input.total).case(1, lambda b: b.{inner})",
    "default": "switch(lambda ctx: ctx.input.total).case(1, lambda b: b.step(close_review, make))"
    ".default(lambda b: b.{inner})",
    "parallel": "parallel(lambda b: b.{inner}, lambda b: b.step(close_review, make))",
    "for_each": "for_each(lambda ctx: ctx.input.lines, lambda b: b.{inner})",
    "on_timeout": 'await_signal(JobFinished, timeout="P1D").on_timeout(lambda b: b.{inner})',
}
CHILD = """\
@flow("example.child", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Child(Flow[PlaceOrder, None]):
    def define(self, flow: FlowBuilder[PlaceOrder, None]) -> None:
        flow.step(open_review)


def make(ctx: FlowContext[PlaceOrder]) -> ManualReview:
    return ManualReview(ticket=ctx.input.order_id)
"""


@pytest.mark.parametrize(("outer", "inner"), list(product(OUTER, INNER)))
def test_a15_every_construct_may_stand_in_every_block(outer: str, inner: str) -> None:
    text = OUTER[outer].format(inner=INNER[inner])
    program = link(Sources.of(example_files(Example(f"flow.{text}", module=CHILD))))
    errors = [item for item in run_rules(program) if item.severity.value == "error"]
    assert errors == []
    assert program.flows["example.Example"].is_sound


def test_a15_the_table_has_a_row_for_every_construct() -> None:
    from flowx_runtime.authoring.builder import FlowBuilder

    methods = {name for name in vars(FlowBuilder) if not name.startswith("_")}
    assert set(INNER) == methods - {"emit_on_failure", "returns"}


def test_a16_branches_are_siblings() -> None:
    assert found(Example("flow.parallel(open_review, lambda b: b.parallel(start_job, validate_order))")) == []


@pytest.mark.parametrize("id", ["FLOWX1007", "FLOWX1008", "FLOWX1009", "FLOWX1011"])
def test_a17_the_page_of_a_determinism_rule_says_what_it_cannot_prove(id: str) -> None:
    entry = find_rule(id)
    assert entry is not None
    match = re.search(r"What it cannot prove: (.+)", entry.page)
    assert match
    assert len(match[1]) > 20


def test_the_shop_of_the_examples_is_clean(linked: Callable[..., Program]) -> None:
    assert run_rules(linked(shop=shop())) == ()
