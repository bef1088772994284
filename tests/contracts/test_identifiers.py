"""Identifiers are compared as Python compares them, whatever code points they are written with."""

from __future__ import annotations

import unicodedata

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from tests.contracts.oracle import derived

COMPOSED = unicodedata.normalize("NFC", "Größe")
DECOMPOSED = unicodedata.normalize("NFD", "Größe")
MODELS = f"""
from pydantic import BaseModel

class {COMPOSED}(BaseModel):
    ﬁrst: int

class Model(BaseModel):
    {DECOMPOSED.lower()}: {DECOMPOSED}
"""
ELSEWHERE = f"""
from flowx_runtime import Contract
from models import {DECOMPOSED} as Größer

class Other(Contract):
    size: Größer
"""


def test_two_spellings_of_one_name_are_one_name() -> None:
    assert COMPOSED != DECOMPOSED
    found = derived({"models": MODELS}, ["models.Model"])

    assert set(found) == {"models.Model", f"models.{COMPOSED}"}
    assert set(found["models.Model"]["properties"]) == {COMPOSED.lower()}
    assert set(found[f"models.{COMPOSED}"]["properties"]) == {"first"}


def test_an_import_is_followed_too() -> None:
    files = [SourceFile("models", "models.py", MODELS.encode()), SourceFile("other", "other.py", ELSEWHERE.encode())]
    (size,) = link(Sources.of(files)).contracts["other.Other"].fields

    assert size.type.name == f"models.{COMPOSED}"
