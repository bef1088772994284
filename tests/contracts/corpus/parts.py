"""What random models are made of; they take all of it by a star."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum, auto
from typing import Annotated, Any, Dict, Generic, List, Literal, NewType, Optional, TypeVar, Union
from uuid import UUID

from annotated_types import Ge, Gt, Le, Len, MaxLen, MinLen, MultipleOf
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, PositiveInt, RootModel, SecretStr
from pydantic import StringConstraints, conint, constr
from pydantic.alias_generators import to_camel, to_pascal

T = TypeVar("T")


class Color(StrEnum):
    RED = "red"
    BLUE = auto()


class Level(IntEnum):
    LOW = 1
    HIGH = auto()


Code = Annotated[str, StringConstraints(min_length=2, pattern="^[a-z]+$")]
Count = NewType("Count", Annotated[int, Field(ge=0)])
Either = Union[int, str]
Nothing = Optional[Code]


class Leaf(BaseModel):
    kind: Literal["leaf"]
    weight: float = Field(gt=0)


class Twig(BaseModel):
    kind: Literal["twig", "branch"] = "twig"
    leaves: list[Leaf] = []


class Box(BaseModel, Generic[T]):
    held: T
    spare: Optional[T] = None
    more: List[Box[T]] = []


class Names(RootModel[list[Code]]):
    pass
