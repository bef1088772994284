"""Inheritance and generics."""

from abc import ABC, abstractmethod
from typing import Annotated, Generic, Optional, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tests.contracts.corpus.nested import Line, Order

T = TypeVar("T")
K = TypeVar("K", bound=str)
B = TypeVar("B", bound=BaseModel)
N = TypeVar("N", int, float)


class Base(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: int
    name: str = "x"


class Child(Base):
    extra_field: bool = False


class Overriding(Base):
    id: str = Field(min_length=1)
    name: str


class Reopened(Child):
    model_config = ConfigDict(extra="ignore")


class Keeping(BaseModel):
    model_config = ConfigDict(extra="allow")
    kept: int


class LastBaseDecides(Base, Keeping):
    pass


class LastBaseForbids(Keeping, Base):
    pass


class Stamped(BaseModel):
    at: str
    name: int


class Both(Base, Stamped):
    own: int


class BothReversed(Stamped, Base):
    own: int


class OverridesBelow(Base):
    name: int = 3


class Untouched(Base):
    other: int = 1


class Diamond(Untouched, OverridesBelow):
    pass


class Behaviour:
    def describe(self) -> str:
        return "x"


class WithMixin(Behaviour, Base):
    more: int


class Abstract(BaseModel, ABC):
    value: int

    @abstractmethod
    def act(self) -> None: ...


class Concrete(Abstract):
    def act(self) -> None:
        pass


class Keywords(BaseModel, extra="allow", frozen=True):
    a: int


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: Optional[str] = None
    first: T | None = None


class Keyed(BaseModel, Generic[K, T]):
    key: K
    value: T
    both: dict[str, T]


class Bounded(BaseModel, Generic[B]):
    model: B


class Constrained(BaseModel, Generic[N]):
    number: N


class Node(BaseModel, Generic[T]):
    value: T
    children: "list[Node[T]]" = []


class ShortPage(BaseModel, Generic[T]):
    model_config = ConfigDict(str_max_length=5)
    item: T


class TextRulesOfEach(BaseModel):
    model_config = ConfigDict(str_min_length=2)
    page: Page[str]
    short: ShortPage[str]
    own: str


class OrderPage(Page[Order]):
    total: int


class NamedPage(Page[T], Generic[T]):
    name: str


class Uses(BaseModel):
    orders: Page[Order]
    numbers: Page[int]
    texts: Page[list[str]]
    limited: Page[Annotated[int, Field(gt=0)]]
    keyed: Keyed[str, Line]
    pages: list[Page[Page[int]]]
    plain: Page
    tree: Node[int]
    named: NamedPage[float]
    optional: Page[int | None] | None = None
    bounded: Bounded[Line]
    constrained: Constrained[int]


class Swapped(Keyed[str, T], Generic[T]):
    pass


class UsesSwapped(BaseModel):
    item: Swapped[int]
