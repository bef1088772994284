"""What is marked `Sensitive` is in no row, event, error or log line, and is never silently something else."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional
from uuid import UUID

import pytest
from engine_plans import NOTE, NotInTime, plan, upload
from engine_scene import Crash, Scene, tables_of
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, RootModel, field_serializer, model_serializer
from secret_plans import (
    BORN,
    CARD,
    CLOSE,
    NAME,
    OPEN,
    PIN,
    SEEN,
    Account,
    Apply,
    Approved,
    Person,
    application,
    assert_no_canary,
    open_account,
    secret_plan,
)
from typing_extensions import TypedDict

from flowx_runtime.authoring.contracts import Contract, Sensitive
from flowx_runtime.engine.documents import Documents, ValueNotKept
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.engine.redaction import Redacted, ValueRedacted, has_holes, may_hold_secrets, redact
from flowx_runtime.host.errors import FlowPaused
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.host.outcome import Completed, Failed, Suspended
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Branch, Delay, Fail, Step

INSTANCE = UUID(int=7)
PLAIN = Documents()


@pytest.fixture(autouse=True)
def _nothing_seen_before() -> None:
    SEEN.clear()


async def test_no_canary_is_in_any_record_log_or_error_while_steps_see_the_values(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    scene = Scene(secret_plan())
    suspended = await scene.host.run("account.open", application())
    assert isinstance(suspended, Suspended)
    await scene.host.signal(suspended.instance_id, Approved(by="CANARY-boss", code=PIN))
    assert [type(seen).__name__ for seen in SEEN] == ["Apply", "Approved"]
    assert SEEN[0] == application()
    assert SEEN[1] == Approved(by="CANARY-boss", code=PIN)
    assert await scene.state() is State.COMPLETED
    assert_no_canary(tables_of(scene))
    assert_no_canary(caplog.text)
    assert "opening for [redacted]" in caplog.text


async def test_a_run_that_is_under_way_has_a_message_as_it_was_sent() -> None:
    scene = Scene(secret_plan())

    async def is_answered_at_once(request: Any, ctx: Any) -> Account:
        await scene.host.signal(ctx.instance_id, Approved(by="CANARY-boss", code=PIN))
        return await open_account(request, ctx)

    scene.new_host(substitutes={"account.open": is_answered_at_once})
    await scene.host.run("account.open", application())
    assert [seen for seen in SEEN if isinstance(seen, Approved)] == [Approved(by="CANARY-boss", code=PIN)]
    assert await scene.state() is State.COMPLETED
    assert_no_canary(tables_of(scene))


async def test_whoever_on_this_node_takes_a_message_while_it_is_being_sent_has_it_as_it_is() -> None:
    scene = Scene(secret_plan())
    suspended = await scene.host.run("account.open", application())
    deliver = scene.journal.deliver

    async def deliver_and_lose_the_race(instance_id: UUID, delivery: Any, **terms: Any) -> Any:
        await deliver(instance_id, delivery)
        await scene.host.sweep_once()

    scene.journal.deliver = deliver_and_lose_the_race  # type: ignore[method-assign]
    await scene.host.signal(suspended.instance_id, Approved(by="CANARY-boss", code=PIN))
    assert [seen for seen in SEEN if isinstance(seen, Approved)] == [Approved(by="CANARY-boss", code=PIN)]
    assert await scene.state() is State.COMPLETED


async def test_a_message_that_a_pause_would_keep_without_its_members_is_refused() -> None:
    scene = Scene(secret_plan())
    parked = await scene.host.run("account.open", application())
    await scene.journal.pause("account.open", "an audit")
    with pytest.raises(FlowPaused, match=r"account.open is paused \(an audit\).*without its sensitive members"):
        await scene.host.signal(parked.instance_id, Approved(by="CANARY-boss", code=PIN))
    assert (await scene.host.inspect(parked.instance_id)).inbox == ()
    await scene.journal.unpause("account.open")
    await scene.host.signal(parked.instance_id, Approved(by="CANARY-boss", code=PIN))
    assert await scene.state() is State.COMPLETED


async def test_an_exceptions_text_and_traceback_are_redacted_by_everything_in_sight(caplog) -> None:
    scene = Scene(secret_plan())
    await scene.host.run("account.open", application())
    await scene.host.signal(scene.only(), Approved(by="CANARY-nobody", code=PIN))
    outcome = await scene.host.outcome(scene.only())
    assert isinstance(outcome, Failed)
    assert "[redacted] cannot approve" in outcome.error.detail
    assert_no_canary(outcome.error.detail)
    assert_no_canary(caplog.text)
    assert_no_canary(tables_of(scene))


async def test_what_pydantic_says_of_a_refused_value_does_not_quote_it() -> None:
    def bad(ctx: Any) -> Person:
        return Person(name=ctx.input.people[0].name, pin="CANARY-no-number", born=BORN)

    scene = Scene(secret_plan(output=Person, returns=bad))
    await scene.host.run("account.open", application())
    await scene.host.signal(scene.only(), Approved(by="x", code=1))
    outcome = await scene.host.outcome(scene.only())
    assert isinstance(outcome, Failed)
    assert "pin: Input should be a valid integer" in outcome.error.detail
    assert_no_canary(tables_of(scene))


@pytest.mark.parametrize("ring", [None, KeyRing({"k": bytes(32)}, current="k")], ids=["redacted", "sealed"])
async def test_no_canary_is_in_any_table_of_the_database(postgres_dsn, schema, ring) -> None:
    import psycopg

    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    async with FlowHost([secret_plan()], journal=journal, sweep_interval=None, key_ring=ring) as host:
        for by in ("CANARY-boss", "CANARY-nobody"):
            suspended = await host.run("account.open", application())
            await host.signal(suspended.instance_id, Approved(by=by, code=PIN))
            assert (await host.replay(suspended.instance_id)).is_same
    with psycopg.connect(postgres_dsn) as connection:
        tables = connection.execute(
            "select table_name from information_schema.tables where table_schema = %s", [schema]
        )
        dumped = []
        for (table,) in tables.fetchall():
            query: Any = f'select row_to_json(t)::text from "{schema}"."{table}" t'
            dumped += [row[0] for row in connection.execute(query).fetchall()]
    assert len(dumped) > 8
    assert_no_canary("\n".join(dumped))
    assert "[redacted]" in "\n".join(dumped)


def dies_at(capability_id: str) -> Any:
    async def dies(request: Any, ctx: Any) -> Any:
        raise Crash(capability_id)

    return {capability_id: dies}


async def test_after_a_resume_a_text_is_its_placeholder_and_a_number_is_refused() -> None:
    scene = Scene(secret_plan())
    await scene.host.run("account.open", application())
    scene.new_host(substitutes=dies_at("account.activate"))
    with pytest.raises(Crash):
        await scene.host.signal(scene.only(), Approved(by="CANARY-boss", code=PIN))
    await scene.recover()
    outcome = await scene.host.outcome(scene.only())
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.value_redacted"
    assert "key ring" in outcome.error.detail


async def test_a_step_that_needs_only_what_was_kept_goes_on_after_a_resume() -> None:
    class Small(Contract):
        id: str
        name: str

    async def note(request: Small, ctx: Any) -> None:
        SEEN.append(request)

    kept = dataclasses.replace(NOTE, request=Small, result=None)

    def of_input(ctx: Any) -> Small:
        return Small(id=ctx.input.id, name=ctx.input.people[0].name)

    scene = Scene(plan(Delay(0, "d", timedelta(days=1)), Step(1, "offer.note", kept, of_input), input=Apply))
    scene.new_host(substitutes={"offer.note": note})
    await scene.host.run("document.process", application())
    assert await scene.to_the_end() is State.COMPLETED
    assert [Small(id="a-1", name="[redacted]")] == SEEN


async def test_a_predicate_that_computes_with_a_redacted_number_fails_and_does_not_guess() -> None:
    scene = Scene(
        plan(
            Delay(0, "d", timedelta(days=1)),
            Branch(1, lambda ctx: ctx.input.people[0].pin > 5, 3),
            upload(2),
            input=Apply,
        )
    )
    await scene.host.run("document.process", application())
    assert await scene.to_the_end() is State.FAILED
    assert (await scene.history()).instance.error.code == "flow.value_redacted"  # type: ignore[union-attr]


async def _fails(request: Any, ctx: Any) -> Any:
    raise RuntimeError("no")


async def test_an_undo_after_a_resume_says_that_it_lacks_a_value(caplog) -> None:
    scene = Scene(secret_plan())
    scene.new_host(substitutes={"account.activate": _fails})
    await scene.host.run("account.open", application())
    await scene.host.signal(scene.only(), Approved(by="x", code=1))
    assert await scene.state() is State.COMPENSATION_FAILED
    assert "whose sensitive members were not kept" in caplog.text
    assert [type(seen).__name__ for seen in SEEN] == ["Apply"]


async def test_an_undo_in_the_same_run_is_given_the_values() -> None:
    scene = Scene(plan(Step(0, "account.open", OPEN, compensation=CLOSE), Fail(1, NotInTime), input=Apply))
    await scene.host.run("document.process", application())
    assert await scene.state() is State.FAILED
    assert SEEN[-1] == Account(number="7", cards=[CARD], owner=ADA)


class Level(Enum):
    HIGH = "CANARY-high"


class Own(Contract):
    secret: Sensitive[str]

    @model_serializer
    def plainly(self) -> dict[str, str]:
        return {"anything": f"<{self.secret}>"}


class Formatted(Contract):
    secret: Sensitive[str]
    inner: tuple[Person, ...] = ()

    @field_serializer("secret")
    def loudly(self, value: str) -> str:
        return value.upper()

    @field_serializer("inner")
    def shortly(self, value: Any) -> str:
        return ",".join(person.name for person in value)


class Names(RootModel[list[Sensitive[str]]]):
    model_config = {"frozen": True}


class Bound(Contract):
    age: Sensitive[int] = Field(ge=1, multiple_of=3)
    code: Sensitive[str] = Field(min_length=15)


@dataclasses.dataclass(frozen=True)
class Pair:
    left: str
    right: Sensitive[int]


class Typed(TypedDict):
    open: str
    secret: Sensitive[str]


class Named(NamedTuple):
    open: str
    secret: Sensitive[int]


class Cat(Contract):
    kind: Literal["cat"] = "cat"
    chip: Sensitive[int]


class Dog(Contract):
    kind: Literal["dog"] = "dog"
    tag: Sensitive[str]


class Tree(Contract):
    secret: Sensitive[int]
    branches: tuple[Tree, ...] = ()


class Deep(Contract):
    listed: list[Sensitive[str]] = []  # noqa: RUF012
    optional: Sensitive[int] | None = None
    older: Optional[Sensitive[str]] = None  # noqa: UP045
    inside: Sensitive[Person | None] = None
    mapped: dict[str, Sensitive[Decimal]] = {}  # noqa: RUF012
    keyed: dict[Sensitive[str], int] = {}  # noqa: RUF012
    pair: tuple[str, Sensitive[int]] = ("", 0)
    several: tuple[Person, ...] = ()
    by_name: dict[str, list[Person]] = {}  # noqa: RUF012
    either: Person | str = ""
    renamed: Sensitive[str] = Field(default="", alias="re-named")
    annotated: Annotated[Sensitive[str], Field(max_length=99)] = ""
    level: Sensitive[Level | None] = None
    raw: Sensitive[bytes] = b""
    bound: Bound | None = None
    names: Names = Names([])
    own: Own | None = None
    formatted: Formatted | None = None
    pair_class: Pair | None = None
    typed: Typed | None = None
    named: Named | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    tree: Tree | None = None
    sequence: Sequence[Sensitive[int]] = ()
    abstract: Mapping[str, Sensitive[bytes]] = {}
    unique: frozenset[Sensitive[int]] = frozenset()


UNMARKED = {
    "listed",
    "optional",
    "older",
    "inside",
    "mapped",
    "keyed",
    "several",
    "by_name",
    "either",
    "bound",
    "names",
}
"""Members of `Deep` that have nothing to hide while they are empty."""

ADA = Person(name=NAME, pin=PIN, born=BORN)


def deep(**changes: Any) -> Deep:
    return Deep(**changes)


SHAPES: dict[str, dict[str, Any]] = {
    "in a list": {"listed": ["CANARY-1", "CANARY-2"]},
    "an optional number": {"optional": PIN},
    "an optional text": {"older": "CANARY"},
    "a whole model": {"inside": ADA},
    "a mapping's value": {"mapped": {"a": Decimal(PIN)}},
    "a mapping's key": {"keyed": {"CANARY": 1}},
    "one place of a tuple": {"pair": ("kept", PIN)},
    "a model in a tuple": {"several": (ADA, ADA)},
    "a model in a list in a mapping": {"by_name": {"x/~y": [ADA]}},
    "a model in a union": {"either": ADA},
    "under an alias": {"re-named": "CANARY"},
    "with a constraint outside": {"annotated": "CANARY"},
    "an enum": {"level": Level.HIGH},
    "bytes": {"raw": b"CANARY"},
    "with constraints that no placeholder meets": {"bound": Bound(age=PIN, code="CANARY-long-enough")},
    "a root model": {"names": Names(["CANARY"])},
    "a model with a serializer of its own": {"own": Own(secret="CANARY")},
    "a dataclass": {"pair_class": Pair("kept", PIN)},
    "a typed dictionary": {"typed": {"open": "kept", "secret": "CANARY"}},
    "a named tuple": {"named": Named("kept", PIN)},
    "one class of a tagged union": {"pet": Cat(chip=PIN)},
    "the other class of a tagged union": {"pet": Dog(tag="CANARY")},
    "a class inside itself": {"tree": Tree(secret=PIN, branches=(Tree(secret=PIN),))},
    "an abstract sequence": {"sequence": [PIN, PIN]},
    "an abstract mapping": {"abstract": {"a": b"CANARY"}},
    "a set": {"unique": frozenset({PIN})},
    "members with serializers of their own": {"formatted": Formatted(secret="canary", inner=(ADA,))},
}

ONE_WAY = {"own", "formatted"}
"""Members with serializers whose documents nothing reads."""


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_mark_is_found_wherever_it_lies(shape) -> None:
    value = deep(**shape)
    if shape.keys() & ONE_WAY:
        with pytest.raises(ValueNotKept) as refused:
            PLAIN.stored(Deep, value, INSTANCE)
        assert_no_canary(str(refused.value))
    else:
        assert_no_canary(PLAIN.stored(Deep, value, INSTANCE))
    assert_no_canary(PLAIN.published(Deep, value))
    assert_no_canary(repr(value))
    if "formatted" not in shape:
        assert_no_canary(redact(f"{value.model_dump()} {value.model_dump_json()}", [value]))


@pytest.mark.parametrize("shape", [shape for shape in SHAPES.values() if not shape.keys() & ONE_WAY])
def test_what_comes_back_is_whole_but_for_what_was_hidden(shape) -> None:
    value = deep(**shape)
    back = PLAIN.restored(Deep, PLAIN.stored(Deep, value, INSTANCE), INSTANCE)
    assert type(back) is Deep
    for name in UNMARKED - shape.keys():
        assert getattr(back, name) == getattr(value, name)
    # Stored again, it is the same document. A dataclass, a typed dictionary, a tuple with names or a set is a hole as a
    # whole.
    if not {"pair_class", "typed", "named", "unique"} & shape.keys():
        assert PLAIN.stored(Deep, back, INSTANCE) == PLAIN.stored(Deep, value, INSTANCE)


def test_hidden_members_are_texts_or_holes() -> None:
    back = PLAIN.restored(Deep, PLAIN.stored(Deep, deep(several=(ADA,), pair=("kept", PIN)), INSTANCE), INSTANCE)
    assert back.several[0].name == "[redacted]"
    assert back.pair[0] == "kept"
    assert isinstance(back.several[0].pin, Redacted)
    assert has_holes(back)
    assert not has_holes(deep(several=(ADA,)))


@pytest.mark.parametrize(
    "compute",
    [
        lambda hole: hole + 1,
        lambda hole: 1 + hole,
        lambda hole: hole > 3,
        lambda hole: hole == "[redacted]",
        bool,
        str,
        int,
        hash,
        len,
        lambda hole: f"{hole}",
        lambda hole: hole.city,
        lambda hole: hole.title(),
        lambda hole: hole["city"],
        list,
    ],
)
def test_nothing_can_be_computed_with_a_hole(compute) -> None:
    with pytest.raises(ValueRedacted):
        compute(Redacted())


def test_an_absent_value_hides_nothing_and_comes_back_absent() -> None:
    assert PLAIN.restored(Deep, PLAIN.stored(Deep, deep(), INSTANCE), INSTANCE).optional is None


def test_contracts_without_marks_are_told_apart() -> None:
    class Free(Contract):
        name: str
        when: date

    class Vague(Contract):
        anything: Any

    assert not may_hold_secrets(Free)
    assert may_hold_secrets(Vague)
    assert may_hold_secrets(Account)
    assert_no_canary(PLAIN.published(Vague, Vague(anything={"who": [ADA]})))
    with pytest.raises(ValueNotKept):  # a dictionary would come back
        PLAIN.stored(Vague, Vague(anything={"who": [ADA]}), INSTANCE)


@given(st.text(), st.lists(st.text()))
def test_a_text_that_says_redacted_by_itself_is_only_a_text(word, words) -> None:
    class Free(Contract):
        word: str
        words: list[str]
        secret: Sensitive[str]

    value = Free(word="[redacted]" + word, words=["[redacted]", *words], secret="s")
    back = PLAIN.restored(Free, PLAIN.stored(Free, value, INSTANCE), INSTANCE)
    assert (back.word, back.words, back.secret) == (value.word, value.words, "[redacted]")


async def test_the_outcome_of_an_earlier_run_has_holes_and_this_runs_has_the_values() -> None:
    scene = Scene(secret_plan())
    await scene.host.run("account.open", application())
    await scene.host.signal(scene.only(), Approved(by="x", code=PIN))
    outcome = await scene.host.outcome(scene.only())
    assert isinstance(outcome, Completed)
    assert isinstance(outcome.value.pin, Redacted)


async def test_a_member_that_was_left_empty_hides_nothing_and_keeps_no_step_from_being_resumed() -> None:
    stored = PLAIN.stored(Hidden, Hidden(), INSTANCE)
    assert json.loads(stored) == {"text": "", "numbers": [], "raw": ""}
    restored = PLAIN.restored(Hidden, stored, INSTANCE)
    assert restored == Hidden()
    assert not has_holes(restored, in_text=True)
    assert json.loads(PLAIN.stored(Hidden, Hidden(text="t", numbers=[1], raw=b"r"), INSTANCE)) == {
        "text": "[redacted]",
        "numbers": "[redacted]",
        "raw": "[redacted]",
    }


class Hidden(Contract):
    text: Sensitive[str] = ""
    numbers: Sensitive[list[int]] = Field(default_factory=list)
    raw: Sensitive[bytes] = b""
