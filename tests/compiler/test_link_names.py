"""What a name means where imports, stars, constants and bases run in circles or end nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowx_compiler.model import Program, Step

Link = Callable[..., Program]

CONTRACT = """
from flowx_runtime import Contract, Flow, Internal, StepContext, capability, flow
class Request(Contract):
    amount: int
"""
CHARGE = """
@capability("payment.charge", version="1.0.0", authorization=Internal())
async def charge(request: Request, ctx: StepContext) -> Request: ...
"""
CAPABILITIES = CONTRACT + CHARGE


def flow_of(capability: str) -> str:
    return f"""
@flow("order.pay", version="1.0.0")
class Pay(Flow[Request, Request]):
    def define(self, flow):
        flow.step({capability}).returns(lambda ctx: ctx.input)
"""


def problems(program: Program) -> list[tuple[str, str]]:
    return [(problem.id[5:], problem.message) for problem in program.problems]


def steps(program: Program, flow: str = "pay.Pay") -> list[str]:
    constructs = program.flows[flow].body.constructs
    return [construct.capability.capability.name for construct in constructs if isinstance(construct, Step)]


def test_modules_that_import_everything_of_each_other_are_linked(linked: Link) -> None:
    program = linked(
        one="from two import *\n" + CONTRACT,
        two="from one import *\n" + CHARGE.replace("Request", "int") + "import flowx_runtime\n",
        pay="from one import *\nfrom two import *\n" + CONTRACT + CHARGE + flow_of("charge"),
    )

    assert steps(program) == ["pay.charge"]


def test_a_star_import_counts_as_a_binding_of_its_place(linked: Link) -> None:
    before = linked(caps=CAPABILITIES, pay="charge = None\nfrom caps import *\n" + flow_of("charge"))
    after = linked(caps=CAPABILITIES, pay="from caps import *\ncharge = None\n" + flow_of("charge"))

    assert (steps(before), problems(before)) == (["caps.charge"], [])
    assert [id for id, _ in problems(after)] == ["1002"]


def test_a_star_import_gives_what_the_module_lists(linked: Link) -> None:
    unlisted = linked(
        caps=CAPABILITIES + "__all__ = ['Request']\n", pay=CONTRACT + "from caps import *\n" + flow_of("charge")
    )
    several = linked(caps=CAPABILITIES, pay="from caps import *\nfrom flowx_runtime import *\n" + flow_of("charge"))

    assert problems(unlisted) == [("1275", "nothing in pay binds `charge`")]
    assert steps(several) == ["caps.charge"]


def test_a_name_that_two_modules_import_from_each_other_is_nowhere(linked: Link) -> None:
    program = linked(
        one="from two import charge\nimport flowx_runtime\n",
        two="from one import charge\nimport flowx_runtime\n",
        pay=CONTRACT + "from one import charge\n" + flow_of("charge"),
    )

    assert problems(program) == [("1275", "module one has no `charge`")]


@pytest.mark.parametrize(
    "constant", ["A = A", "A = B\nB = A", "A = (A, A)", "A = -A", "A = Settings.A\nclass Settings:\n    A = A"]
)
def test_a_constant_that_names_itself_is_none(constant: str, linked: Link) -> None:
    program = linked(pay=f"{CONTRACT}{constant}\n{CHARGE}".replace('"payment.charge"', "A"))

    assert [id for id, _ in problems(program)] == ["1230"]


@pytest.mark.parametrize(
    "declarations",
    [
        "class One(Two): ...\nclass Two(One): ...\n",
        "class One(One): ...\n",
        "One = Two\nTwo = One\n",
        "class One(Two, code='a'): ...\nclass Two(One): ...\n",
    ],
)
def test_classes_that_derive_from_each_other_are_nothing(declarations: str, linked: Link) -> None:
    program = linked(pay=CONTRACT + declarations + CHARGE.replace(": Request", ": One") + "\nx: One\n")

    assert [id for id, _ in problems(program)] == ["1241"]


def test_aliases_of_types_are_the_types(linked: Link) -> None:
    program = linked(
        models="import pydantic\nclass Base(pydantic.BaseModel, frozen=True):\n    id: int\nModel = Base\n",
        caps=CONTRACT + "from models import Model\nclass Both(Model):\n    more: int\nAlias = Both\n"
        "Quoted = Alias\n" + CHARGE.replace("Request", "Quoted"),
    )

    assert problems(program) == []
    assert program.capabilities["caps.charge"].request.name == "caps.Both"
    assert [member.name for member in program.contracts["caps.Both"].fields] == ["id", "more"]


def test_what_a_module_that_cannot_be_read_lacks_is_not_said_twice(linked: Link) -> None:
    program = linked(
        broken="import flowx_runtime\ndef (:\n", pay=CONTRACT + "from broken import charge\n" + flow_of("charge")
    )

    assert [id for id, _ in problems(program)] == ["1280"]
    assert not program.flows["pay.Pay"].is_sound


def test_an_error_in_one_flow_hides_nothing_in_another(linked: Link) -> None:
    second = flow_of("charge.nowhere").replace("Pay", "Again")
    program = linked(pay=CAPABILITIES + flow_of("missing") + second + flow_of("charge").replace("Pay", "Good"))

    assert [program.flows[f"pay.{name}"].is_sound for name in ("Pay", "Again", "Good")] == [False, False, True]
    assert [id for id, _ in problems(program)] == ["1275", "1002"]


def test_a_declaration_that_two_branches_make_is_refused_in_both(linked: Link) -> None:
    branches = f"if Request:\n{indented(flow_of('charge'))}\nelse:\n{indented(flow_of('charge'))}\n"
    program = linked(pay=CAPABILITIES + branches)

    assert [id for id, _ in problems(program)] == ["1276", "1276"]
    assert program.flows == {}


@pytest.mark.parametrize("holder", ["def make():", "class Holder:"])
def test_a_declaration_inside_another_is_refused(holder: str, linked: Link) -> None:
    program = linked(pay=f"{CONTRACT}{holder}\n{indented(CHARGE)}")

    assert [id for id, _ in problems(program)] == ["1277"]


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
