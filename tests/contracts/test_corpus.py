"""Over models as people write them, the compiler says what pydantic says, or says why it does not."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings
from functools import cache
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from flowx_compiler.contracts.shape import reference, references
from tests.contracts.oracle import IS_OLDER, Comparison, corpus, derived


def models() -> dict[str, type[BaseModel]]:
    """Every model that a module of the corpus declares, by qualified name."""
    found = {}
    for module in corpus():
        for name, member in inspect.getmembers(importlib.import_module(module), inspect.isclass):
            if IS_OLDER and name in ("ByName", "Configured", "TextRulesOfEach", "ShortPage"):
                continue
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


OPAQUE = {
    *(f"opaque.{name}" for name in ("Before", "ByCode", "Custom", "Extra", "Reshaped", "Written")),
    *("aliased.Lambda", "family.Bounded", "limits.AnnotatedLimits"),
}


def test_few_models_are_opaque_anywhere() -> None:
    opaque = {name.removeprefix("tests.contracts.corpus.") for name in MODELS if compared(name).opaque}

    assert opaque == OPAQUE
    assert len(MODELS) >= 60
    assert len(opaque) <= 0.15 * len(MODELS), opaque


def test_every_contract_is_a_schema_and_every_reference_leads_to_one() -> None:
    document = {"contracts": contracts()}
    for name, schema in contracts().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        for referred in references(schema):
            assert referred in contracts(), f"{name} refers to {referred}"
    page = "tests.contracts.corpus.family.Page[tests.contracts.corpus.nested.Order]"
    validator = jsonschema.Draft202012Validator({**document, "$ref": reference(page).schema["$ref"]})
    assert validator.is_valid({"items": []})
    assert not validator.is_valid({"items": [{"id": 1}]})


def test_what_pydantic_takes_the_schema_takes_and_what_it_refuses_too() -> None:
    """The comparison above trusts pydantic's document; this asks the values."""
    name = "tests.contracts.corpus.nested.Owner"
    validator = jsonschema.Draft202012Validator({"contracts": contracts(), "$ref": reference(name).schema["$ref"]})
    good = {
        "pet": {"kind": "dog", "breed": "x"},
        "other": {"kind": "cat"},
        "third": {"kind": "lion"},
        "undiscriminated": "x",
    }
    assert MODELS[name].model_validate_json(json.dumps(good))
    assert validator.is_valid(good)
    for key, value in {"pet": {"kind": "cow"}, "third": {"kind": "RED"}, "undiscriminated": 3}.items():
        assert not validator.is_valid({**good, key: value})


def test_the_names_that_are_given_to_parametrised_contracts() -> None:
    family, nested = "tests.contracts.corpus.family", "tests.contracts.corpus.nested"
    names = [name.removeprefix(f"{family}.") for name in contracts() if name.startswith(f"{family}.Page")]
    readable = sorted(name for name in names if "shape-" not in name)

    plain = ["Page", "Page[int]", "Page[list[str]]", "Page[str]"]
    assert readable == [*plain, f"Page[{family}.Page[int]]", f"Page[{nested}.Order]"]
    assert len(names) == len(readable) + 2  # one of a limited number, and one of a number or null


def test_listed_things_are_in_an_order_that_their_spelling_does_not_decide() -> None:
    one = derived({"m": ORDERED}, ["m.Model"])
    respelt = ORDERED.replace('"b", "a"', '"a", "b"').replace("    z: int\n    y: int\n", "    y: int\n    z: int\n")
    other = derived({"m": respelt}, ["m.Model"])

    assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


ORDERED = """
from typing import Literal
from pydantic import BaseModel

class Model(BaseModel):
    z: int
    y: int
    of: Literal["b", "a"]
"""
