"""With a key ring, sensitive members are sealed where they are stored, and come back only there."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from engine_plans import Fail, NotInTime, plan
from engine_scene import Crash, Scene, tables_of
from hypothesis import given
from hypothesis import strategies as st
from secret_plans import (
    CARD,
    CLOSE,
    OPEN,
    PIN,
    SEEN,
    Account,
    Apply,
    Approved,
    Welcome,
    application,
    assert_no_canary,
    secret_plan,
)

from flowx_runtime.authoring.contracts import Contract, Sensitive
from flowx_runtime.engine.documents import Documents, shown
from flowx_runtime.engine.key_ring import InvalidKeyRing, KeyMissing, KeyRing, SealBroken
from flowx_runtime.host.errors import IdempotencyConflict
from flowx_runtime.host.outcome import Completed
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Step, SubFlow

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
RING = KeyRing({"k1": OLD}, current="k1")
ROTATED = KeyRing({"k1": OLD, "k2": NEW}, current="k2")
HERE, THERE = UUID(int=1), UUID(int=2)


@pytest.fixture(autouse=True)
def _nothing_seen_before() -> None:
    SEEN.clear()


def sealing(*plans: Any, ring: KeyRing = RING, **changes: Any) -> Scene:
    scene = Scene(*plans)
    scene.new_host(key_ring=ring, **changes)
    return scene


async def test_a_resumed_run_has_every_value_and_the_store_has_none(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    scene = sealing(secret_plan())
    await scene.host.run("account.open", application())

    async def dies(request: Any, ctx: Any) -> Any:
        raise Crash("in the step")

    scene.new_host(key_ring=RING, substitutes={"account.activate": dies})
    with pytest.raises(Crash):
        await scene.host.signal(scene.only(), Approved(by="CANARY-boss", code=PIN))
    await scene.recover(key_ring=ROTATED)
    outcome = await scene.host.outcome(scene.only())
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == Welcome(number="7", pin=PIN)
    assert SEEN[-1] == Approved(by="CANARY-boss", code=PIN)
    assert_no_canary(tables_of(scene))
    assert_no_canary(caplog.text)
    (event,) = await scene.journal.events(scene.only())
    assert json.loads(event.payload) == {"number": "7", "card": "[redacted]", "pin": "[redacted]"}
    assert "flowx.sealed/1" in tables_of(scene)


async def test_a_resumed_unwind_gives_the_undo_what_the_step_gave() -> None:
    async def dies(request: Any, ctx: Any) -> Any:
        raise Crash("in the undo")

    scene = Scene(plan(Step(0, "account.open", OPEN, compensation=CLOSE), Fail(1, NotInTime), input=Apply))
    scene.new_host(key_ring=RING, substitutes={"account.close": dies})
    with pytest.raises(Crash):
        await scene.host.run("document.process", application())
    await scene.recover(key_ring=RING)
    assert await scene.state() is State.FAILED
    assert SEEN[-1] == Account(number="7", cards=[CARD], owner=application().people[0])


async def test_a_childs_sealed_output_comes_back_in_its_parent() -> None:
    child = secret_plan()
    parent = plan(
        SubFlow(0, "child", "account.open", "1.0.0", lambda ctx: ctx.input),
        flow_id="parent",
        input=Apply,
        output=Welcome,
        returns=lambda ctx: ctx.get(Welcome),
    )
    scene = sealing(child, parent)
    suspended = await scene.host.run("parent", application())
    (child_instance,) = set(scene.journal._entries) - {suspended.instance_id}
    scene.new_host(key_ring=RING)
    await scene.host.signal(child_instance, Approved(by="x", code=PIN))
    outcome = await scene.host.outcome(suspended.instance_id)
    assert isinstance(outcome, Completed)
    assert outcome.value == Welcome(number="7", pin=PIN)
    assert_no_canary(tables_of(scene))


async def test_a_missing_key_is_one_error_and_the_instance_goes_on_when_it_is_back() -> None:
    scene = sealing(secret_plan())
    await scene.host.run("account.open", application())
    for ring, said in ((KeyRing({"k2": NEW}, current="k2"), "k1"), (None, "no key ring")):
        scene.new_host(key_ring=ring)
        with pytest.raises(KeyMissing, match=said):
            await scene.host.resume(scene.only())
        assert await scene.state() is State.SUSPENDED
    scene.new_host(key_ring=ROTATED)
    await scene.host.signal(scene.only(), Approved(by="x", code=1))
    assert await scene.state() is State.COMPLETED


async def test_a_changed_document_is_refused_and_changes_nothing() -> None:
    scene = sealing(secret_plan())
    await scene.host.run("account.open", application())
    entry = scene.journal._entries[scene.only()]
    document = json.loads(entry.row.input)
    place, sealed = next(iter(document["flowx.sealed/1"].items()))
    document["flowx.sealed/1"][place] = sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:]
    entry.row = replace(entry.row, input=json.dumps(document))
    with pytest.raises(SealBroken):
        await scene.host.resume(scene.only())
    assert await scene.state() is State.SUSPENDED


async def test_a_repeated_start_with_another_secret_is_another_input() -> None:
    scene = sealing(secret_plan())
    first = await scene.host.run("account.open", application(), idempotency_key="k")
    again = await scene.host.run("account.open", application(), idempotency_key="k")
    assert again.instance_id == first.instance_id
    other = application().model_copy(update={"notes": {"note": "another"}})
    with pytest.raises(IdempotencyConflict):
        await scene.host.run("account.open", other, idempotency_key="k")


class Note(Contract):
    text: Sensitive[str]
    number: Sensitive[int]
    free: dict[str, str] = {}  # noqa: RUF012


@given(st.builds(Note, text=st.text(), number=st.integers(), free=st.dictionaries(st.text(), st.text())))
def test_what_is_sealed_comes_back_as_it_went(note) -> None:
    documents = Documents(RING)
    stored = documents.stored(Note, note, HERE)
    assert documents.restored(Note, stored, HERE) == note
    assert Documents(ROTATED).restored(Note, stored, HERE) == note
    hidden = "[redacted]" if note.text else ""  # what is empty hides nothing
    assert json.loads(shown(stored)) == {"text": hidden, "number": "[redacted]", "free": note.free}


def test_what_is_sealed_opens_nowhere_else() -> None:
    class Other(Note):
        pass

    documents = Documents(RING)
    stored = documents.stored(Note, Note(text="a", number=1), HERE)
    swapped = json.loads(stored)
    seals = swapped["flowx.sealed/1"]
    seals["/text"], seals["/number"] = seals["/number"], seals["/text"]
    for contract, text, instance in ((Note, stored, THERE), (Other, stored, HERE), (Note, json.dumps(swapped), HERE)):
        with pytest.raises(SealBroken):
            documents.restored(contract, text, instance)
    with pytest.raises(SealBroken, match="the name now stands for another key"):
        Documents(KeyRing({"k1": NEW}, current="k1")).restored(Note, stored, HERE)


def test_a_host_that_gets_a_key_ring_later_still_reads_what_was_redacted_before() -> None:
    stored = Documents().stored(Note, Note(text="a", number=1), HERE)
    assert Documents(RING).restored(Note, stored, HERE).text == "[redacted]"


@pytest.mark.parametrize(
    ("keys", "current"), [({"k1": b"short"}, "k1"), ({"k1": OLD}, "k2"), ({"a:b": OLD}, "a:b"), ({}, "k1")]
)
def test_a_key_ring_that_cannot_work_is_refused(keys, current) -> None:
    with pytest.raises(InvalidKeyRing):
        KeyRing(keys, current=current)


def test_a_key_ring_does_not_show_its_keys() -> None:
    assert repr(ROTATED) == "KeyRing(k1, k2; current=k2)"
