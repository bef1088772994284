"""Dataclasses, typed dictionaries and named tuples in models."""

import dataclasses
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Optional, TypeVar

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, Required, TypedDict

T = TypeVar("T")


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Point3(Point):
    z: Optional[float] = None


@pydantic_dataclass
class Checked:
    name: str = Field(min_length=1)
    count: int = 1


class Corner(NamedTuple):
    x: int
    y: str = "a"


class Entry(TypedDict):
    name: str
    note: NotRequired[str]


class MoreEntry(Entry, total=False):
    size: int
    must: Required[bool]


class Records(BaseModel):
    point: Point
    points: list[Point3]
    checked: Checked
    corner: Corner
    entry: Entry
    more: MoreEntry | None = None
