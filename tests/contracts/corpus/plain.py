"""Models as most are: scalars, defaults, optional members, collections."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import uuid
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Dict, FrozenSet, Iterable, List, Optional, Set, Tuple, Union
from uuid import UUID, uuid4

import pydantic
from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    Base64Str,
    ConfigDict,
    EmailStr,
    Field,
    FutureDate,
    HttpUrl,
    NegativeFloat,
    NonNegativeInt,
    PastDatetime,
    PositiveFloat,
    PositiveInt,
    PostgresDsn,
    PrivateAttr,
    SecretBytes,
    SecretStr,
    StrictInt,
    StrictStr,
)


class Empty(BaseModel):
    """Nothing at all."""


class Customer(BaseModel):
    """A customer.

    With a docstring of two paragraphs.
    """

    name: str
    age: int
    balance: float
    is_active: bool = True
    nickname: str | None = None
    referred_by: Optional[str] = None
    must_be_said: Optional[int]
    tags: list[str] = []
    note: None = None


class Clock(BaseModel):
    on: date
    at: time
    created: datetime
    lasts: timedelta = timedelta(minutes=5)
    past: PastDatetime
    later: FutureDate
    aware: AwareDatetime
    stamped: dt.datetime = Field(default_factory=lambda: datetime.now(dt.UTC))


class Identifiers(BaseModel):
    id: UUID = Field(default_factory=uuid4)
    other: uuid.UUID
    fourth: UUID4
    address: ipaddress.IPv4Address
    network: ipaddress.IPv6Network | None = None
    pattern: re.Pattern[str]


class Money(BaseModel):
    amount: Decimal
    rate: Decimal = Field(gt=0, le=Decimal("1.5"))
    price: Decimal = Field(max_digits=10, decimal_places=2, ge=0)
    maybe: Optional[Decimal] = Field(default=None, multiple_of=Decimal("0.01"))


class Links(BaseModel):
    home: HttpUrl
    any: AnyUrl
    mail: EmailStr
    database: PostgresDsn
    where: Path
    secret: SecretStr
    key: SecretBytes
    raw: bytes
    encoded: Base64Str


class Numbers(BaseModel):
    count: PositiveInt
    left: NonNegativeInt = 0
    ratio: PositiveFloat
    loss: NegativeFloat
    exact: StrictInt
    word: StrictStr
    tens: PositiveInt = Field(multiple_of=10, lt=1_000)


class Collections(BaseModel):
    numbers: list[int]
    pair: tuple[int, str]
    many: tuple[float, ...]
    none: tuple[()] = ()
    unique: set[str]
    fixed: frozenset[int]
    prices: dict[str, Decimal]
    by_number: dict[int, str]
    by_id: dict[UUID, date]
    nested: dict[str, list[dict[str, int]]]
    sequence: Sequence[int]
    mapping: Mapping[str, bool]
    changing: MutableMapping[str, bool]
    some: AbstractSet[str]
    queue: deque[int]
    ordered: OrderedDict[str, int]
    grouped: defaultdict[str, list[int]]
    bare_list: list
    bare_dict: dict
    bare_tuple: tuple


class OldSpelling(BaseModel):
    numbers: List[int]
    pair: Tuple[int, str]
    many: Tuple[int, ...]
    unique: Set[str]
    fixed: FrozenSet[int]
    mapping: Dict[str, int]
    several: Iterable[int]
    either: Union[int, str]
    maybe: Optional[List[Optional[int]]] = None
    three: Union[int, str, None]


class Anything(BaseModel):
    whatever: Any
    thing: object
    maybe: Any = None
    optional: Optional[Any] = None
    document: dict[str, Any]
    rows: list[dict[str, Any]]


class NotMembers(BaseModel):
    LIMIT: ClassVar[int] = 3
    names: ClassVar[dict[str, int]] = {}
    _secret: int = PrivateAttr(default=0)
    _plain: str = "x"
    kept: int

    def total(self) -> int:
        return self.kept

    @property
    def doubled(self) -> int:
        return self.kept * 2

    @classmethod
    def make(cls) -> NotMembers:
        return cls(kept=1)


class Qualified(pydantic.BaseModel):
    at: dt.date
    id: uuid.UUID = pydantic.Field(default_factory=uuid.uuid4)
    name: "str" = pydantic.Field(default="x", title="A name", description="What it is called", examples=["a"])
    model_config = pydantic.ConfigDict(title="Another title")


class Unions(BaseModel):
    either: int | str
    three: int | str | float | None
    lists: list[int] | list[str]
    null_first: None | int = None
    deep: dict[str, int | None] | None = None


def largest() -> int:
    return 9


class Defaults(BaseModel):
    called: int = largest()
    none: int | None = None
    number: int = 1
    text: str = ""
    listed: list[int] = Field(default_factory=list)
    required: int = Field(...)
    also_required: int = ...
    positional: int = Field(3)
    made: Decimal = Decimal("1.00")
    when: date = date(2020, 1, 1)
