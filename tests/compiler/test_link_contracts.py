"""What linking knows of contracts, events, signals, errors and enumerations."""

from __future__ import annotations

from collections.abc import Callable

from flowx_compiler.model import Program

Link = Callable[..., Program]

MODELS = '''
from __future__ import annotations
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Optional

import pydantic
from pydantic import BaseModel, ConfigDict, Field
from flowx_runtime import Category, Contract, FlowError, Sensitive, event, signal

if TYPE_CHECKING:
    from decimal import Decimal


class Channel(StrEnum):
    RETAIL = "retail"
    _ignored = "x"


class Base(Contract):
    id: str
    channel: Channel = Channel.RETAIL


@event("order.placed", version="1.2.0")
class Placed(Base):
    model_config = ConfigDict(title="Placed")
    LIMIT: ClassVar[int] = 3
    total: "Decimal"
    note: Optional[str] = Field(default=None)
    reference: str = Field(min_length=1)
    card: Sensitive[str]
    tags: tuple[Annotated[str, 1], ...] = ()
    state: Literal["open", "paid"]

    @property
    def is_paid(self) -> bool:
        return self.state == "paid"

    def describe(self) -> str:
        return self.note or ""


@signal("order.paid")
class Paid(BaseModel, frozen=True):
    id: str


class Loose(BaseModel):
    model_config = {"frozen": True}


class Open(pydantic.BaseModel):
    items: list[Placed]


class Unknown(Contract, Elsewhere):
    pass


class Refused(FlowError, code="order.refused", category=Category.FORBIDDEN):
    """No."""


class RefusedTwice(Refused):
    """Still no."""
'''


def test_members_are_their_own_and_inherited_ones(linked: Link) -> None:
    placed = linked(models=MODELS).contracts["models.Placed"]
    members = {member.name: (member.kind, str(member.type), member.has_default) for member in placed.members}

    assert members == {
        "id": ("field", "str", False),
        "channel": ("field", "Channel", True),
        "total": ("field", "Decimal", False),
        "note": ("field", "str | None", True),
        "reference": ("field", "str", False),
        "card": ("field", "Sensitive[str]", False),
        "tags": ("field", "tuple[Annotated[str], ...]", True),
        "state": ("field", "Literal", False),
        "is_paid": ("property", "bool", True),
        "describe": ("method", "str", True),
    }
    assert [member.name for member in placed.members if member.is_sensitive] == ["card"]
    assert {member.name: member.type.literals for member in placed.members}["state"] == ("open", "paid")


def test_frozen_and_complete_are_told_apart(linked: Link) -> None:
    contracts = linked(models=MODELS).contracts
    told = {name.removeprefix("models."): (found.is_frozen, found.is_complete) for name, found in contracts.items()}

    assert told == {
        "Base": (True, True),
        "Placed": (True, True),
        "Paid": (True, True),
        "Loose": (True, True),
        "Open": (False, True),
        "Unknown": (True, False),
    }


def test_the_border_s_names_are_read_from_their_decorators(linked: Link) -> None:
    program = linked(models=MODELS)

    assert [(found.id, found.version) for found in program.events.values()] == [("order.placed", "1.2.0")]
    assert [found.id for found in program.signals.values()] == ["order.paid"]
    assert [(found.code, found.category) for found in program.errors.values()] == [("order.refused", "forbidden")] * 2
    assert program.enumerations["models.Channel"].members == ("RETAIL",)


def test_a_contract_in_a_module_that_never_says_the_runtime_s_name_is_found(linked: Link) -> None:
    program = linked(
        models="import pydantic\nclass Request(pydantic.BaseModel, frozen=True):\n    amount: int\n",
        between="from models import Request as Req\n",
        caps="from flowx_runtime import *\nfrom between import Req\n"
        '@capability("payment.charge", version="1.0.0", authorization=Internal())\n'
        "async def charge(request: Req, ctx: StepContext) -> None: ...\n",
        unrelated="this is not even Python\n",
    )

    assert program.problems == ()
    assert program.capabilities["caps.charge"].request.name == "models.Request"
    assert "unrelated" not in program.modules


NESTED = """
from flowx_runtime import Contract, Flow, FlowBuilder, Internal, StepContext, capability, flow

class Outer:
    class Request(Contract):
        a: int

@capability("a.b", version="1.0.0", authorization=Internal(), errors=())
async def ask(request: Outer.Request, ctx: StepContext) -> Outer.Request:
    return request

@flow("f.g", version="1.0.0")
class Asking(Flow[Outer.Request, Outer.Request]):
    def define(self, flow: FlowBuilder[Outer.Request, Outer.Request]) -> None:
        flow.step(ask)
"""


def test_a_contract_inside_a_class_is_refused_and_asked_to_move(linked: Link) -> None:
    problems = [problem for problem in linked(flows=NESTED).problems if problem.id != "FLOWX1277"]

    assert {problem.id for problem in problems} == {"FLOWX1241", "FLOWX1242", "FLOWX1243"}
    assert all(problem.help.startswith("move it to module level") for problem in problems)
