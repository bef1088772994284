"""Models in models, recursion, unions of models."""

from __future__ import annotations

from typing import Annotated, List, Literal, Optional, Union

from pydantic import BaseModel, Discriminator, Field, RootModel

from tests.contracts.corpus.named import Channel, Color


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")


class Line(BaseModel):
    sku: str
    quantity: int = Field(gt=0)


class Order(BaseModel):
    id: str
    lines: list[Line] = Field(min_length=1)
    ship_to: Address
    bill_to: Optional[Address] = None
    history: tuple[Line, ...] = ()
    by_sku: dict[str, Line] = Field(default_factory=dict, description="Lines again")


class Tree(BaseModel):
    value: int
    children: list[Tree] = []
    parent: Optional["Tree"] = None


class Left(BaseModel):
    right: Right | None = None


class Right(BaseModel):
    left: Left | None = None


class Cat(BaseModel):
    kind: Literal["cat", "lion"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    breed: str


class Robot(BaseModel):
    kind: Literal[Color.RED]


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]
Animal = Cat | Dog


class Owner(BaseModel):
    pet: Pet
    other: Cat | Dog = Field(discriminator="kind")
    maybe: Optional[Union[Cat, Dog]] = Field(default=None, discriminator="kind")
    pets: List[Pet] = []
    third: Annotated[Animal | Robot, Discriminator("kind")]
    undiscriminated: Cat | Dog | str


class Aliased(BaseModel):
    kind: Literal["aliased"] = Field(alias="type")


class AliasedToo(BaseModel):
    kind: Literal["too"] = Field(alias="type")


class AliasedUnion(BaseModel):
    item: Annotated[Aliased | AliasedToo, Field(discriminator="kind")]


class SubOne(BaseModel):
    kind: Literal["sub"]
    sub: Literal["one"]


class SubTwo(BaseModel):
    kind: Literal["sub"]
    sub: Literal["two"]


Sub = Annotated[SubOne | SubTwo, Field(discriminator="sub")]


class NestedUnion(BaseModel):
    item: Annotated[Sub | Cat, Field(discriminator="kind")]


class Tags(RootModel[list[str]]):
    pass


class Scores(RootModel):
    root: dict[str, int] = Field(max_length=5)


class Roots(BaseModel):
    tags: Tags
    scores: Scores | None = None
    inline: RootModel[list[int]]


class PetBox(RootModel[Pet]):
    pass


class Channels(BaseModel):
    by: dict[Channel, Order]
    colors: list[Color] | None = None
