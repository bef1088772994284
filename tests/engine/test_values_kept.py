"""A value that is stored comes back as what it is, or is refused at the moment it would be stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import pytest
from engine_plans import plan
from engine_scene import Scene
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from flowx_runtime import Contract, Failed, Internal, Sensitive, StepContext, capability, signal
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.engine.declared import place_in
from flowx_runtime.engine.documents import Documents, ValueNotKept, ValueUnreadable
from flowx_runtime.engine.plain import models_in_plain
from flowx_runtime.plan import CapabilityUse, Step

T = TypeVar("T")
ID = UUID(int=7)
CANARY = "canary"


class Colour(StrEnum):
    RED = "red"


class Pair(Enum):
    ONE_TWO = (1, 2)


class Base(Contract):
    x: str


class Derived(Base):
    y: int


class Flat(Contract):
    x: str


class WrittenOtherwise(Contract):
    a: str = Field(serialization_alias="A")


class ReadOtherwise(Contract):
    a: str = Field(validation_alias="A")


class OneOfSeveral(Contract):
    a: str = Field(validation_alias=AliasChoices("A", "B"))


class DeepInside(Contract):
    a: str = Field(validation_alias=AliasPath("A", "b"))


class Generated(Contract):
    model_config = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))
    my_name: str


class NotByAlias(Contract):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    a: int = Field(alias="A")


class TupleKeys(Contract):
    a: dict[tuple[int, int], str]


class TupleValues(Contract):
    a: Pair


class Number(Contract):
    a: float


class Times100(Contract):
    a: Annotated[int, AfterValidator(lambda value: value * 100)]


class Times100Again(Contract):
    a: int

    @field_validator("a")
    @classmethod
    def more(cls, value: int) -> int:
        return value * 100


class More(Contract):
    a: int

    @model_validator(mode="after")
    def more(self) -> More:
        object.__setattr__(self, "a", self.a + 1)
        return self


class AfterInit(Contract):
    a: int

    def model_post_init(self, _: Any) -> None:
        object.__setattr__(self, "a", self.a + 1)


class OwnInit(Contract):
    a: int

    def __init__(self, a: int) -> None:
        super().__init__(a=a * 10)


class Serialized(Contract):
    a: Annotated[int, PlainSerializer(lambda value: value + 1)]


class Base64(Contract):
    model_config = ConfigDict(ser_json_bytes="base64")
    a: bytes


class Excluded(Contract):
    a: int = Field(default=3, exclude=True)


class HoldsBase(Contract):
    a: Base


class HoldsMany(Contract):
    a: tuple[Base, ...]


class ColourOrText(Contract):
    a: Colour | str


class Pattern(Contract):
    a: re.Pattern[str]


class Boxed(Contract, Generic[T]):
    a: T


class HoldsBox(Contract):
    a: Boxed  # type: ignore[type-arg]


class Secret(Contract):
    card: Sensitive[Annotated[str, AfterValidator(lambda value: value + "!")]]


class Kept(Contract):
    a: str
    b: int = 0
    c: Decimal = Decimal(0)
    d: date | None = None
    e: datetime | None = None
    f: float = 0
    g: Sequence[int] = ()
    h: Mapping[str, int] = Field(default_factory=dict)
    i: frozenset[tuple[int, str]] = frozenset()
    j: Colour = Colour.RED
    k: Literal["x"] = "x"
    m: Base = Base(x="1")
    n: dict[Colour, bool] = Field(default_factory=dict)
    o: Boxed[int] = Boxed[int](a=1)
    card: Sensitive[str] = ""


class HasPrivate(Contract):
    a: int
    _b: int = PrivateAttr(default=0)

    def model_post_init(self, _: Any) -> None:
        self._b = self.a


LOST: list[tuple[BaseModel, str]] = [
    (WrittenOtherwise(a=CANARY), "a (missing)"),
    (ReadOtherwise(A=CANARY), "A (missing)"),
    (OneOfSeveral(A=CANARY), "A (missing)"),
    (DeepInside(A={"b": CANARY}), "A.b (missing)"),
    (Generated(my_name=CANARY), "my_name (missing)"),
    (NotByAlias(a=1), "a (missing)"),
    (TupleKeys(a={(1, 2): CANARY}), "a.…"),
    (TupleValues(a=Pair.ONE_TWO), "a (enum)"),
    (Number(a=float("inf")), "a (float_type)"),
    (Number(a=float("nan")), "a (float_type)"),
    (Times100(a=5), "member a would"),
    (Times100Again(a=5), "member a would"),
    (More(a=5), "member a would"),
    (AfterInit(a=5), "member a would"),
    (OwnInit(a=5), "member a would"),
    (Serialized(a=5), "member a would"),
    (Base64(a=b"\xff"), "member a would"),
    (Excluded(a=4), "member a would"),
    (HoldsBase(a=Derived(x=CANARY, y=1)), "member a would"),
    (HoldsMany(a=(Base(x=CANARY), Derived(x=CANARY, y=1))), "member a.1 would"),
    (ColourOrText(a=Colour.RED), "member a would"),
    (Pattern(a=re.compile("a", re.IGNORECASE)), "member a would"),
    (HoldsBox(a=Boxed(a=ID)), "member a"),
    (Secret(card=CANARY), "member card would"),
    (Flat.model_construct(x=7), "x (string_type)"),
    (Flat(x="\ud800"), "cannot be written"),
]


@pytest.mark.parametrize(("value", "said"), LOST, ids=lambda each: type(each).__name__)
def test_what_would_not_come_back_is_refused_and_not_quoted(value: BaseModel, said: str) -> None:
    with pytest.raises(ValueNotKept) as refused:
        Documents().stored(type(value), value, ID)
    assert said in str(refused.value)
    assert type(value).__name__ in str(refused.value)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        Kept(a="x"),
        Kept(
            a="a\x00b",
            b=2**70,
            c=Decimal("1.10"),
            e=datetime(2030, 1, 2, tzinfo=UTC),
            f=1.5,
            g=(1, 2),
            h={"a": 1},
            i=frozenset({(1, "a")}),
            n={Colour.RED: True},
            card="[redacted]",
        ),
        HasPrivate(a=3),
        Base64(a=b""),
        HoldsBase(a=Base(x="1")),
        Number(a=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_comes_back_is_kept(value: BaseModel) -> None:
    documents = Documents()
    text = documents.stored(type(value), value, ID)
    if not isinstance(value, Kept):
        assert documents.restored(type(value), text, ID) == value


def test_plain_contracts_are_known_and_nothing_else_is() -> None:
    class Limited(Contract):
        a: Annotated[str, Field(min_length=1)] = ""

    class Mistaken(Contract):
        a: Colour = "red"  # type: ignore[assignment]

    class Ten(Contract):
        a: str
        b: int = 0
        c: UUID | None = None
        d: tuple[str, ...] = ()
        e: dict[str, int] = Field(default_factory=dict)
        f: Colour = Colour.RED
        g: list[Flat] = Field(default_factory=list)

    assert models_in_plain(Ten) == (Flat,)
    assert models_in_plain(Flat) == ()
    for contract in {type(value) for value, _ in LOST} - {Flat, HoldsBase, HoldsMany} | {Limited, Mistaken, HasPrivate}:
        assert models_in_plain(contract) is None, contract


def test_a_document_that_does_not_fit_any_more_says_where_and_quotes_nothing() -> None:
    with pytest.raises(ValueUnreadable, match=r"no HoldsBase any more, at a\.x \(string_type\)"):
        Documents().restored(HoldsBase, f'{{"a": {{"x": ["{CANARY}"]}}}}', ID)
    assert place_in(HoldsBase, ("a", "x", CANARY, 3)) == ["a", "x", "…", "3"]


@signal("values.number")
class Told(Contract):
    number: float


class Go(Contract):
    n: float = 0


def _making(calls: list[str], value: Any) -> CapabilityUse:
    async def make(request: Go, ctx: StepContext) -> Any:
        calls.append("made")
        return value

    make.__annotations__["return"] = type(value)
    declared = capability("values.make", version="1.0.0", authorization=Internal(), idempotent=True)(make)
    return CapabilityUse(declared, "values.make", "1.0.0", Go, type(value), idempotent=True)


async def test_a_result_that_would_not_come_back_fails_its_step_once() -> None:
    calls: list[str] = []
    policy = PolicySet("twice", retry=Retry(3, Backoff.fixed(timedelta(milliseconds=1))))
    scene = Scene(
        plan(Step(0, "make", _making(calls, Times100(a=5)), policy=policy), input=Go, output=None, returns=None)
    )
    outcome = await scene.host.run(scene.plans[0].flow_id, Go())
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.category) == ("flow.value_not_kept", "internal")
    assert "Times100" in outcome.error.detail
    assert "member a" in outcome.error.detail
    assert "500" not in outcome.error.detail
    assert calls == ["made"]


async def test_an_input_and_a_signal_that_would_not_come_back_are_refused_to_the_sender() -> None:
    scene = Scene(plan(Step(0, "make", _making([], Flat(x="1"))), input=Go))
    with pytest.raises(ValueNotKept, match="this Go "):
        await scene.host.run(scene.plans[0].flow_id, Go(n=float("nan")))
    assert not scene.journal._entries
    with pytest.raises(ValueNotKept, match="this Told "):
        await scene.host.signal(ID, Told(number=float("inf")))


class Bytes(Contract):
    a: bytes


class Failing(Contract):
    a: Annotated[int, PlainSerializer(lambda value: 1 // 0)]


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        (b"\xff", None),
        (b"\xff", bytes),
        (Bytes(a=b"\xff"), None),
        (Failing(a=1), None),
        (Failing(a=1), Failing),
        (Times100(a=5), None),
        (Times100(a=5), Times100),
        (Colour.RED, Colour | str),
        (float("inf"), None),
        ({1: CANARY}, None),
        ("\ud800", str),
    ],
)
async def test_a_once_result_that_would_not_come_back_is_asked_for_once(value: Any, returns: Any) -> None:
    calls: list[str] = []

    async def make(request: Go, ctx: StepContext) -> None:
        def charge() -> Any:
            calls.append("charged")
            return value

        await ctx.once("charge", charge, returns=returns)

    declared = capability("values.once", version="1.0.0", authorization=Internal(), idempotent=True)(make)
    use = CapabilityUse(declared, "values.once", "1.0.0", Go, None, idempotent=True, has_steps=True)
    policy = PolicySet("thrice", retry=Retry(3, Backoff.fixed(timedelta(milliseconds=1))))
    scene = Scene(plan(Step(0, "make", use, policy=policy), input=Go))
    outcome = await scene.host.run(scene.plans[0].flow_id, Go())
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.once_result_not_kept"
    assert CANARY not in outcome.error.detail
    assert calls == ["charged"]


class Touchy:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError(CANARY)

    __hash__ = None  # type: ignore[assignment]


class HoldsTouchy(Contract):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    a: Annotated[Touchy, BeforeValidator(lambda _: Touchy()), PlainSerializer(lambda _: 1)]


def test_members_that_cannot_be_compared_are_refused_and_not_quoted() -> None:
    with pytest.raises(ValueNotKept, match="this HoldsTouchy ") as refused:
        Documents().stored(HoldsTouchy, HoldsTouchy(a=Touchy()), ID)
    assert CANARY not in str(refused.value)
