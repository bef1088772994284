"""Strategies made from contracts: every value is one, and the constraints are reached and kept."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from polling.plans import document_process_v1_0_0 as document_process
from pydantic import Field, field_validator
from workflow.plans import employee_onboard_v2_0_0 as employee_onboard

from flowx_runtime import Contract, Sensitive
from flowx_runtime.testing import contracts, flow_inputs


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(Contract):
    name: Annotated[str, Field(min_length=1, max_length=3)]


class Everything(Contract):
    text: str
    code: Annotated[str, Field(pattern=r"^[A-Z]{2}\d{3}$")]
    count: Annotated[int, Field(ge=1, le=5)]
    even: Annotated[int, Field(gt=0, multiple_of=2, lt=100)]
    share: Annotated[float, Field(gt=0, lt=1)]
    price: Annotated[Decimal, Field(ge=0, max_digits=6, decimal_places=2)]
    colour: Colour
    kind: Literal["a", "b"]
    inner: Inner
    many: Annotated[tuple[Inner, ...], Field(min_length=1, max_length=2)]
    pair: tuple[int, str]
    tags: frozenset[Colour]
    by_name: dict[str, int]
    maybe: int | None
    at: datetime
    day: date
    long: timedelta
    id: UUID
    secret: Sensitive[str]
    named: str = Field(default="x", alias="alias")
    defaulted: int = 7


class Bounded(Contract):
    count: Annotated[int, Field(ge=1, le=5)]
    even: Annotated[int, Field(gt=0, multiple_of=2, lt=100)]
    price: Annotated[Decimal, Field(ge=0, max_digits=6, decimal_places=2)]
    maybe: int | None
    many: Annotated[tuple[Inner, ...], Field(min_length=1, max_length=2)]
    at: datetime
    defaulted: int = 7


class Tree(Contract):
    children: tuple[Tree, ...] = ()


class Ordered(Contract):
    low: int
    high: int

    @field_validator("high")
    @classmethod
    def is_not_below(cls, high: int, info) -> int:
        if high < info.data.get("low", high):
            raise ValueError("high is below low")
        return high


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(contracts(Everything))
def test_every_value_is_a_contract_that_survives_its_journal(value: Everything) -> None:
    assert Everything.model_validate_json(value.model_dump_json(by_alias=True)) == value


@given(contracts(Ordered))
def test_what_a_validator_refuses_is_not_drawn(value: Ordered) -> None:
    assert value.low <= value.high


@given(contracts(Tree))
def test_a_contract_inside_itself_ends(value: Tree) -> None:
    assert isinstance(value, Tree)


@pytest.mark.parametrize(
    "is_met",
    [
        lambda value: value.count == 1,
        lambda value: value.count == 5,
        lambda value: value.even > 90,
        lambda value: value.price > 9000,
        lambda value: value.maybe is not None,
        lambda value: value.defaulted != 7,
        lambda value: len(value.many) == 2,
    ],
)
def test_the_ends_of_what_is_allowed_are_reached(is_met) -> None:
    quick = settings(max_examples=500, database=None, derandomize=True, phases=[Phase.generate])
    assert is_met(find(contracts(Bounded), is_met, settings=quick))


@given(contracts(Inner, name=st.just("abc")))
def test_a_member_may_be_settled(value: Inner) -> None:
    assert value.name == "abc"


@settings(max_examples=20)
@given(flow_inputs(document_process.PLAN), flow_inputs(employee_onboard.PLAN))
def test_the_inputs_of_flows_are_what_they_take(document, whom) -> None:
    assert isinstance(document, document_process.PLAN.input)
    assert isinstance(whom, employee_onboard.PLAN.input)


@settings(max_examples=10)
@given(contracts(Bounded))
def test_instants_carry_a_zone(value: Bounded) -> None:
    assert value.at.tzinfo is UTC
