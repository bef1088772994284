"""Over random models, too, the compiler says what pydantic says: nothing in their grammar has to be opaque."""

from __future__ import annotations

import sys
import types
import warnings

from hypothesis import HealthCheck, assume, given, settings

from tests.contracts.oracle import Comparison, corpus, derived
from tests.contracts.random_models import modules

NAME = "random_models_under_test"
PARTS = "tests.contracts.corpus.parts"


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(modules())
def test_it_is_pydantic_s_schema(made: tuple[str, list[str]]) -> None:
    text, names = made
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(text, NAME, "exec"), module.__dict__)
                theirs = {name: getattr(module, name).model_json_schema() for name in names}
            except (TypeError, ValueError, RuntimeError):
                assume(False)  # pydantic does not take these models either
    finally:
        del sys.modules[NAME]
    ours = derived({PARTS: corpus()[PARTS], NAME: text}, [f"{NAME}.{name}" for name in names])
    for name in names:
        comparison = Comparison(ours, theirs[name].get("$defs", {}))
        comparison.same(name, ours[f"{NAME}.{name}"], theirs[name])
        assert not comparison.difference, f"{comparison.difference}\n{text[text.index('class Model0') :]}"
        assert not comparison.opaque, f"{comparison.opaque}\n{text[text.index('class Model0') :]}"
