"""Over models as people write them, the compiler says what pydantic says, or says why it does not."""

from __future__ import annotations

import importlib
import inspect
import warnings
from functools import cache
from typing import Any

import pytest
from pydantic import BaseModel

from tests.contracts.oracle import Comparison, corpus, derived


def models() -> dict[str, type[BaseModel]]:
    """Every model that a module of the corpus declares, by qualified name."""
    found = {}
    for module in corpus():
        for name, member in inspect.getmembers(importlib.import_module(module), inspect.isclass):
            if issubclass(member, BaseModel) and member.__module__ == module and "[" not in name:
                found[f"{module}.{name}"] = member
    return found


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    MODELS = models()


@cache
def contracts() -> dict[str, Any]:
    return derived(corpus(), list(MODELS))


@cache
def compared(name: str) -> Comparison:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MODELS[name].model_json_schema()
    comparison = Comparison(contracts(), theirs.get("$defs", {}))
    comparison.same(name.rpartition(".")[2], contracts()[name], theirs)
    return comparison


@pytest.mark.parametrize("name", MODELS)
def test_it_is_pydantic_s_schema_or_opaque_with_a_reason(name: str) -> None:
    comparison = compared(name)

    assert not comparison.difference, comparison.difference
    assert all(reason.strip() for reason in comparison.opaque)


def test_few_models_are_opaque_anywhere() -> None:
    opaque = [name for name in MODELS if compared(name).opaque]

    assert len(MODELS) >= 60
    assert len(opaque) <= 0.15 * len(MODELS), opaque
