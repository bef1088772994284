"""Constraints, in every way there is to write them."""

import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Final, Optional

import annotated_types as at
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MaxLen, MinLen, MultipleOf, Predicate
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    SecretStr,
    Strict,
    StringConstraints,
    conbytes,
    condecimal,
    confloat,
    conint,
    conlist,
    conset,
    constr,
)
from pydantic.types import StringConstraints as Text

from tests.contracts.corpus.values import LARGEST, PATTERN, Name

SMALLEST: Final = 2
CODE = re.compile(r"^[A-Z]{3}$")
Percent = Annotated[float, Field(ge=0, le=100)]
Sku = Annotated[str, StringConstraints(min_length=3, max_length=12, pattern=r"^[a-z]+$", strip_whitespace=True)]
Positive = Field(gt=0)


class FieldLimits(BaseModel):
    age: int = Field(ge=0, lt=150)
    ratio: float = Field(gt=0.5, le=1)
    even: int = Field(multiple_of=2, default=2)
    name: str = Field(min_length=1, max_length=80, pattern="^[a-z]+$")
    tags: list[str] = Field(min_length=1, max_length=10)
    unique: set[int] = Field(max_length=3)
    names: dict[str, int] = Field(min_length=1)
    many: tuple[int, ...] = Field(max_length=4, default=())
    raw: bytes = Field(max_length=16)
    free: float = Field(allow_inf_nan=False)


class AnnotatedLimits(BaseModel):
    age: Annotated[int, Field(ge=0)]
    both: Annotated[int, Field(ge=0), Field(le=9)] = 3
    merged: Annotated[int, Field(ge=0)] = Field(le=9)
    default: Annotated[int, Field(default=3)]
    factory: Annotated[list[int], Field(default_factory=list)]
    loose: Annotated[str, Strict()]
    checked: Annotated[int, AfterValidator(abs), Gt(0)]
    deep: list[Annotated[int, Field(gt=0)]]
    keys: dict[Annotated[str, Field(min_length=2)], Annotated[int, Lt(5)]]
    patterns: dict[Annotated[str, Field(pattern="^x")], int]


class LibraryLimits(BaseModel):
    a: Annotated[int, Gt(1)]
    b: Annotated[int, Ge(1), Lt(5)]
    c: Annotated[float, Interval(gt=0, le=1.5)]
    d: Annotated[str, MinLen(1)]
    e: Annotated[str, MaxLen(5)]
    f: Annotated[list[int], Len(1, 4)]
    g: Annotated[list[int], Len(2)]
    h: Annotated[int, MultipleOf(5)]
    i: Annotated[int, at.Le(8)]
    j: Annotated[int, Predicate(lambda value: value > 0)]
    k: Annotated[str, Len(0, 3)]
    l: Annotated[int, Le(le=7)]


class StringLimits(BaseModel):
    a: Annotated[str, StringConstraints(min_length=1, to_lower=True)]
    b: Annotated[str, Text(max_length=9)]
    c: Sku
    d: Optional[Sku] = None
    e: list[Sku]
    f: Annotated[Sku, Field(description="a code")]


class CallLimits(BaseModel):
    a: conint(gt=0, le=10)
    b: constr(min_length=1, pattern="^a")
    c: confloat(ge=0)
    d: conlist(int, min_length=1, max_length=3)
    e: conset(str, max_length=3)
    f: condecimal(gt=Decimal(0), max_digits=5)
    g: conbytes(min_length=1)
    h: Optional[conint(ge=3)] = None
    i: list[constr(max_length=3)] = []


class OptionalLimits(BaseModel):
    a: Optional[int] = Field(default=None, gt=0)
    b: Annotated[str | None, Field(min_length=1)] = None
    c: Annotated[int, Field(gt=0)] | None = None
    d: list[int] | None = Field(default=None, max_length=3)
    e: None | Annotated[str, MinLen(2)] = None


class NamedLimits(BaseModel):
    a: int = Field(le=LARGEST)
    b: int = Field(gt=SMALLEST)
    c: str = Field(pattern=PATTERN)
    d: str = Field(pattern=CODE)
    e: Percent
    f: Name
    g: int = Field(lt=LARGEST * 2 + 1)
    h: int = Field(lt=10**6)
    i: int = Positive
    j: float = Field(gt=-1)


class TimeLimits(BaseModel):
    a: date = Field(gt=date(2020, 1, 1))
    b: timedelta = Field(gt=timedelta(0), le=timedelta(days=1))
    c: Annotated[date, Ge(date(2020, 1, 1))]


class SizedLimits(BaseModel):
    secret: SecretStr = Field(min_length=8)
    mail: EmailStr = Field(max_length=100)
    link: HttpUrl = Field(max_length=200)


class Configured(BaseModel):
    model_config = ConfigDict(str_min_length=1, str_max_length=20, ser_json_bytes="base64", str_strip_whitespace=True)
    a: str
    b: str = Field(max_length=5)
    c: list[str]
    d: bytes
    e: Optional[str] = None
