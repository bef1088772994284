"""Contracts survive the journal; what is sensitive is not said aloud; derived ids are what they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, computed_field

from flowx_runtime.authoring.contracts import Contract, Sensitive
from flowx_runtime.engine.codec import decode, encode
from flowx_runtime.engine.identity import (
    child_id,
    derive_id,
    idempotency_key,
    mint_id,
    minted_at,
    started_id,
    undo_idempotency_key,
)
from flowx_runtime.engine.redaction import redact


class Line(Contract):
    name: Sensitive[str]
    price: Decimal


class Everything(Contract):
    when: datetime
    lasts: timedelta
    id: UUID
    lines: tuple[Line, ...]
    by_name: dict[str, int]
    renamed: int = Field(alias="re-named")

    @computed_field
    @property
    def total(self) -> Decimal:
        return sum((line.price for line in self.lines), Decimal(0))


EVERYTHING = st.fixed_dictionaries(
    {
        "when": st.datetimes(timezones=st.just(UTC)),
        "lasts": st.timedeltas(timedelta(0), timedelta(days=9)),
        "id": st.uuids(),
        "lines": st.tuples(st.builds(Line, name=st.text(), price=st.decimals(-9, 9, places=3))),
        "by_name": st.dictionaries(st.text(), st.integers()),
        "re-named": st.integers(),
    }
)


@given(EVERYTHING.map(lambda members: Everything(**members)))
def test_a_contract_comes_back_as_it_went(value: Everything):
    assert decode(Everything, encode(Everything, value)) == value


def test_sensitive_members_are_found_however_deep_they_lie():
    value = {"orders": [Line(name="hunter2", price=Decimal(1))]}
    assert redact("hunter2 paid 1", [value]) == "[redacted] paid 1"
    assert redact("nothing to hide", [value]) == "nothing to hide"


def test_an_empty_secret_hides_nothing():
    assert redact("abc", [Line(name="", price=Decimal(1))]) == "abc"


def test_minted_ids_are_time_ordered_and_carry_their_instant():
    noon = datetime(2031, 5, 6, 12, tzinfo=UTC)
    first, second = mint_id(noon), mint_id(noon + timedelta(milliseconds=1))
    assert first < second
    assert first.version == 7
    assert minted_at(first) == noon


def test_derived_ids_are_frozen_formats():
    parent = UUID(int=1)
    assert child_id(parent, "7/2", 3) == UUID("373a5d71-2cd0-8b37-9f7b-b7ba568d598f")
    assert started_id("f", None, "k") == UUID("aea24287-87c0-8fb1-9df0-6ec7e128e146")
    assert child_id(parent, "", 3).version == 8
    assert minted_at(child_id(parent, "", 3)) is None


@pytest.mark.parametrize(("one", "other"), [(("a", "bc"), ("ab", "c")), (("a|b",), ("a", "b")), (("",), ())])
def test_different_parts_never_derive_the_same_id(one, other):
    assert derive_id("x", *one) != derive_id("x", *other)


def test_a_step_and_its_undo_have_different_keys():
    assert idempotency_key(UUID(int=1), "", "s") != undo_idempotency_key(UUID(int=1), "", "s")
