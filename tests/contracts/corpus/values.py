"""Constants and aliases that other modules take from here."""

from typing import Annotated, Literal, NewType, Optional, TypeAlias, TypeVar, Union

from pydantic import Field
from typing_extensions import TypeAliasType

LARGEST = 99
PATTERN = "^[a-z]" + "+$"
Name = Annotated[str, Field(min_length=1, max_length=50)]
Level: TypeAlias = Literal["low", "high"]
OrderId = NewType("OrderId", str)
Quantity = NewType("Quantity", Annotated[int, Field(gt=0)])
Scalar = Union[int, str]
Maybe = Optional[Name]
T = TypeVar("T")
Pair = tuple[T, T]
Table = dict[str, list[T]]
Amount = TypeAliasType("Amount", Annotated[int, Field(ge=0)])
