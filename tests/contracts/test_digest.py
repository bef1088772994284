"""A plan's digest moves with the shape of every contract it holds values of and with its code, not with words on it."""

from __future__ import annotations

import pytest

from flowx_compiler.rules.examples import shop
from tests.compiler.small_plans import model_of, source

MODELS = '''\
from enum import StrEnum
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

T = TypeVar("T")
LONGEST = 9


class Color(StrEnum):
    RED = "red"


class Seal(BaseModel):
    """A seal."""

    number: int
    color: Color = Color.RED


class Parcel(BaseModel, Generic[T]):
    inside: T


class Note(TypedDict):
    text: str


class Crate(BaseModel):
    seal: Seal
    parcels: list[Parcel[int]] = []
    note: Note | None = None
    name: Annotated[str, Field(max_length=LONGEST)] = Field(default="x", description="words")
    raw: int = 0

    @field_validator("raw", mode="before")
    @classmethod
    def read(cls, value: object) -> object:
        return value
'''
SHOP = shop().replace(
    "class ManualReview(Contract):\n", "class ManualReview(Contract):\n    crate: Crate | None = None\n"
)
SHOP = "from crates import Crate\n" + SHOP.replace("from __future__ import annotations\n", "")


def digest(models: str = MODELS) -> str:
    return model_of(source("flow.step(open_review)\nflow.step(start_job)"), shop=SHOP, crates=models).digest


COSMETIC = {
    "a docstring": ('"""A seal."""', '"""Another."""'),
    "a description": ('description="words"', 'description="more", title="Name", examples=["a"]'),
    "another spelling of a default": (' = Field(default="x", description="words")', " = 'x'"),
    "the order of members": (
        "    number: int\n    color: Color = Color.RED\n",
        "    color: Color = Color.RED\n    number: int\n",
    ),
    "another spelling": ("Note | None", "None | Note"),
    "a constant written out": ("max_length=LONGEST", "max_length=9"),
    "a method": ("    number: int\n", "    number: int\n\n    def total(self) -> int:\n        return 1\n\n"),
}
SHAPE = {
    "a member of a nested contract": ("    number: int\n", "    number: str\n"),
    "a new member": ("    number: int\n", "    number: int\n    place: str\n"),
    "a default": ("    number: int\n", "    number: int = 1\n"),
    "a value of an enumeration": ('RED = "red"', 'RED = "crimson"'),
    "another value": ('RED = "red"', 'RED = "red"\n    BLUE = "blue"'),
    "what is given to a generic": ("Parcel[int]", "Parcel[str]"),
    "a member of a generic": ("    inside: T\n", "    inside: list[T]\n"),
    "a key of a typed dictionary": ("    text: str\n", "    text: int\n"),
    "a limit": ("LONGEST = 9", "LONGEST = 10"),
    "an alias": ("    number: int\n", "    number: int = Field(alias='n')\n"),
    "members that are refused": ("class Seal(BaseModel):", "class Seal(BaseModel, extra='forbid'):"),
    "the type of a member left opaque": ("    raw: int = 0\n", "    raw: str = ''\n"),
    "a validator that runs before": ('"raw", mode="before"', '"raw", "name", mode="before"'),
    "a default's value": ('default="x"', 'default="y"'),
    "the member of an enumeration that is a default": ("RED", "CRIMSON"),
    "a validator that refuses more": (
        "    inside: T\n",
        "    inside: T\n\n    @field_validator('inside')\n    def f(cls, v):\n        return v\n",
    ),
    "what a validator does": ("return value", "return value or 1"),
}


def edited(edit: tuple[str, str]) -> str:
    assert edit[0] in MODELS
    return MODELS.replace(*edit)


@pytest.mark.parametrize("name", COSMETIC)
def test_it_stays_under(name: str) -> None:
    assert digest(edited(COSMETIC[name])) == digest()


@pytest.mark.parametrize("name", SHAPE)
def test_it_moves_with(name: str) -> None:
    assert digest(edited(SHAPE[name])) != digest()


def test_the_example_is_what_it_is_taken_for() -> None:
    assert "crate: Crate" in SHOP
