"""A suppression quiets a check; it cannot make a plan of what the compiler could not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowx_compiler.build import compile_sources
from flowx_compiler.config import Config
from flowx_compiler.rules.examples import example_files
from flowx_compiler.rules.rule import Example

CONFIG = Config(root=Path(), sources=("src",), plans="app.plans")
UNREADABLE = [
    "flow.stepp(open_review)  # flowx: ignore[FLOWX1201] looks fine to me",
    "flow.step(str)  # flowx: ignore[FLOWX1002] looks fine to me",
]


@pytest.mark.parametrize("call", UNREADABLE)
def test_what_cannot_be_read_stops_a_build_even_where_it_is_suppressed(call: str):
    files = example_files(Example(f"flow.step(open_review)\n{call}"))

    build = compile_sources(files, CONFIG, {})
    assert build.has_errors
    assert build.files == {}


def test_a_judgement_that_is_suppressed_stops_no_build():
    define = (
        "flow.step(validate_order)\nflow.step(reserve_inventory).with_policy(SAFE_RETRY)  # flowx: ignore[FLOWX1014] ok"
    )
    build = compile_sources(example_files(Example(define)), CONFIG, {})

    assert not build.has_errors
    assert build.files
