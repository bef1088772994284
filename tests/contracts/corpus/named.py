"""Enumerations, literals, aliases and new types."""

import enum
from enum import Enum, IntEnum, StrEnum, auto
from typing import Annotated, Literal, Optional

from pydantic import BaseModel, Field

from tests.contracts.corpus import values
from tests.contracts.corpus.values import Amount, Level, Maybe, OrderId, Pair, Quantity, Scalar, Table


class Color(Enum):
    RED = "red"
    GREEN = "green"
    CRIMSON = "red"


class Channel(str, Enum):
    """How it came in."""

    WEB = "web"
    SHOP = "shop"

    @property
    def label(self) -> str:
        return self.value.title()


class Priority(IntEnum):
    LOW = 1
    HIGH = 10


class Size(StrEnum):
    SMALL = auto()
    EXTRA_LARGE = auto()
    OTHER = "OTHER"


class Step(Enum):
    FIRST = auto()
    SECOND = auto()
    TENTH = 10
    LAST = auto()


class Grade(int, enum.Enum):
    A = 1
    B = 2


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    HALF = 0.5


class Behaviour(Enum):
    def describe(self) -> str:
        return str(self.value)


class Derived(Behaviour):
    X = "x"
    Y = "y"


class Enumerations(BaseModel):
    color: Color
    channel: Channel = Channel.WEB
    priority: Optional[Priority] = None
    size: Size
    step: Step
    grade: Grade
    mixed: Mixed
    derived: Derived
    several: list[Color]
    by_channel: dict[Channel, int]
    unique: set[Size] = Field(default_factory=set)


class Literals(BaseModel):
    one: Literal["a"]
    several: Literal["b", "a", "c"]
    numbers: Literal[1, 2]
    mixed: Literal[1, "x", None]
    flag: Literal[True]
    member: Literal[Color.RED, Color.GREEN]
    maybe: Optional[Literal["x", "y"]] = None
    level: Level = "low"


class Aliases(BaseModel):
    id: OrderId
    quantity: Quantity
    few: Annotated[Quantity, Field(lt=10)]
    scalar: Scalar
    optional_scalar: Scalar | None = None
    maybe: Maybe = None
    amount: Amount
    small: Annotated[Amount, Field(le=5)]
    name: values.Name
    ids: list[OrderId]


class GenericAliases(BaseModel):
    pair: Pair[int]
    table: Table[float]
    untyped: Pair
    nested: Table[Pair[str]]


class Inside(BaseModel):
    class Status(StrEnum):
        OPEN = "open"
        DONE = "done"

    class Part(BaseModel):
        number: int

    status: Status
    part: Part
    parts: "list[Inside.Part]" = []
