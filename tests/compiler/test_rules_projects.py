"""Rules over more than one module: what belongs together, and what only lies side by side."""

from __future__ import annotations

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.rules.run import run_rules

CAPABILITY = """\
from flowx_runtime import Contract, Internal, StepContext, capability


class Order(Contract):
    order_id: str


@capability("order.check", version="1.0.0", authorization=Internal(), idempotent=True)
async def check(request: Order, ctx: StepContext) -> Order:
    return request
"""


def found(*files: tuple[str, str, str]) -> list[tuple[str, str]]:
    sources = [SourceFile(module, file, text.encode()) for module, file, text in files]
    return [(finding.id, finding.place.file) for finding in run_rules(link(Sources.of(sources)))]


def test_an_identity_is_declared_once_below_an_import_root():
    both = found(("app.one", "app/one.py", CAPABILITY), ("app.two", "app/two.py", CAPABILITY))

    assert both == [("FLOWX1303", "app/two.py")]


def test_projects_that_lie_side_by_side_share_no_identities():
    both = found(("app.one", "first/app/one.py", CAPABILITY), ("app2.one", "second/app2/one.py", CAPABILITY))

    assert both == []


def test_another_version_is_another_declaration():
    newer = CAPABILITY.replace('version="1.0.0"', 'version="1.1.0"')

    assert found(("app.one", "app/one.py", CAPABILITY), ("app.two", "app/two.py", newer)) == []


CHILD = """\
from flowx_runtime import Flow, FlowBuilder, Profile, StepContext, Internal, capability, flow
from app.base import Order, SubFlowed
from datetime import datetime


@capability("order.stamp", version="1.0.0", authorization=Internal(), idempotent=True)
async def stamp(request: Order, ctx: StepContext) -> Order:
    return Order(order_id=str(datetime.now()))


@flow("order.child", version="1.0.0")
class Child(Flow[Order, Order]):
    def define(self, flow: FlowBuilder[Order, Order]) -> None:
        flow.step(stamp)
        flow.returns(lambda ctx: ctx.get(Order))
"""
PARENT = """\
from flowx_runtime import Flow, FlowBuilder, Profile, SubFlowMode, flow
from app.base import Order
from app.child import Child


@flow("order.parent", version="1.0.0", profile=Profile.{profile}, deadline="PT1H")
class Parent(Flow[Order, Order]):
    def define(self, flow: FlowBuilder[Order, Order]) -> None:
        flow.sub_flow(Child, lambda ctx: ctx.input, mode=SubFlowMode.{mode})
        flow.returns(lambda ctx: ctx.input)
"""
BASE = "from flowx_runtime import Contract\n\n\nclass Order(Contract):\n    order_id: str\n\n\nSubFlowed = Order\n"


@pytest.mark.parametrize(
    ("profile", "mode", "severity"),
    [
        ("DURABLE", "INLINE", "error"),
        ("DURABLE", "DETACHED", "warning"),
        ("EPHEMERAL", "INLINE", "warning"),
    ],
)
def test_a_clock_is_an_error_where_a_durable_flow_comes_to_it_through_inline_sub_flows(
    profile: str, mode: str, severity: str
):
    files = (
        ("app.base", "app/base.py", BASE),
        ("app.child", "app/child.py", CHILD),
        ("app.parent", "app/parent.py", PARENT.format(profile=profile, mode=mode)),
    )
    sources = [SourceFile(module, file, text.encode()) for module, file, text in files]
    clock = [finding for finding in run_rules(link(Sources.of(sources))) if finding.id == "FLOWX1007"]

    assert [finding.severity.value for finding in clock] == [severity]
