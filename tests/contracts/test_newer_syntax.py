"""Syntax of newer Pythons than the oldest one: what it means is what its older spelling means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contracts.oracle import derived

IMPORTS = """\
from typing import Annotated, Generic, TypeVar
from typing_extensions import TypedDict
from pydantic import BaseModel, Field

T = TypeVar("T")
N = TypeVar("N", int, str)
B = TypeVar("B", bound=int)
"""
PAIRS = {
    "a type statement": (
        "type Count = Annotated[int, Field(gt=0)]\n",
        "Count = Annotated[int, Field(gt=0)]\n",
        "Count",
    ),
    "a type parameter": (
        "class Page[T](BaseModel):\n    items: list[T]\n    first: T | None = None\n",
        "class Page(BaseModel, Generic[T]):\n    items: list[T]\n    first: T | None = None\n",
        "Page[int]",
    ),
    "one that nothing is given for": (
        "class Page[T](BaseModel):\n    items: list[T]\n",
        "class Page(BaseModel, Generic[T]):\n    items: list[T]\n",
        "Page",
    ),
    "a bound": (
        "class Page[B: int](BaseModel):\n    item: B\n",
        "class Page(BaseModel, Generic[B]):\n    item: B\n",
        "Page",
    ),
    "a choice": (
        "class Page[N: (int, str)](BaseModel):\n    item: N\n",
        "class Page(BaseModel, Generic[N]):\n    item: N\n",
        "Page",
    ),
    "a generic base": (
        "class Page[T](BaseModel):\n    items: list[T]\n\nclass Sub[T](Page[T]):\n    own: T\n",
        "class Page(BaseModel, Generic[T]):\n    items: list[T]\n\nclass Sub(Page[T], Generic[T]):\n    own: T\n",
        "Sub[Page[str]]",
    ),
    "a typed dictionary": (
        "class Entry[T](TypedDict):\n    value: T\n",
        "class Entry(TypedDict, Generic[T]):\n    value: T\n",
        "list[Entry[int]]",
    ),
}


def shapes(declarations: str, annotation: str) -> dict[str, Any]:
    return derived(
        {"m": f"{IMPORTS}\n{declarations}\nclass Model(BaseModel):\n    member: {annotation}\n"}, ["m.Model"]
    )


@pytest.mark.parametrize("name", PAIRS)
def test_it_means_what_its_older_spelling_means(name: str) -> None:
    newer, older, annotation = PAIRS[name]

    assert shapes(newer, annotation) == shapes(older, annotation)
    assert "opaque" not in json.dumps(shapes(newer, annotation))
