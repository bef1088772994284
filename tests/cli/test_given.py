"""JSON given on the command line: which member is wrong is said, what it was is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import field_validator

from flowx_cli.given import given_value
from flowx_compiler.errors import UsageProblem
from flowx_runtime import Contract, Sensitive


class Card(Contract):
    number: Sensitive[str]
    year: int

    @field_validator("number")
    @classmethod
    def is_a_number(cls, number: str) -> str:
        if not number.isdigit():
            raise ValueError(f"{number} is no card")
        return number


def refused(text: str) -> str:
    with pytest.raises(UsageProblem) as problem:
        given_value(Card, text, "a card")
    return str(problem.value)


def test_a_value_comes_from_the_words_or_from_a_file(tmp_path: Path) -> None:
    text = '{"number": "12", "year": 2031}'
    (tmp_path / "card.json").write_text(text, "utf-8")
    assert given_value(Card, text, "a card") == given_value(Card, f"@{tmp_path / 'card.json'}", "a card")


def test_every_wrong_member_is_named_and_none_is_quoted() -> None:
    said = refused('{"number": "SECRET", "year": "SECRET"}')
    assert said.startswith("this is not a card: ")
    assert "number: it is not accepted" in said
    assert "year: " in said
    assert "SECRET" not in said
    assert "the document: " in refused("SECRET")
    assert "SECRET" not in refused("SECRET")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "cannot be read" in refused(f"@{tmp_path / 'none'}")
    (tmp_path / "latin").write_bytes(b"\xff")
    assert "it is not UTF-8" in refused(f"@{tmp_path / 'latin'}")
