"""The blocks of the page about contracts are what the compiler derives, and Python takes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.contracts.oracle import derived

PAGE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")
BLOCKS = {
    (match["kind"], match["what"]): match["text"]
    for match in re.finditer(
        r"<!-- (?P<kind>[\w ]+): (?P<what>[^>]+?) -->\n```\w+\n(?P<text>.*?)\n```", PAGE, re.DOTALL
    )
}
SHOWN = [what for kind, what in BLOCKS if kind == "contract"]


def test_every_block_is_marked() -> None:
    assert PAGE.count("```") == 2 * len(BLOCKS)


def test_the_models_are_models() -> None:
    namespace: dict[str, object] = {"__name__": "shop"}
    exec(compile(BLOCKS["file", "shop.py"], "shop.py", "exec"), namespace)
    assert "PlaceOrder" in namespace


@pytest.mark.parametrize("name", SHOWN)
def test_a_shape_is_what_is_derived(name: str) -> None:
    found = derived({"shop": BLOCKS["file", "shop.py"]}, ["shop.PlaceOrder"])
    assert found[name] == json.loads(BLOCKS["contract", name])
