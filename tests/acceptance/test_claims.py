"""The list of claims names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_that_the_list_of_claims_names_exists() -> None:
    text = (TESTS / "acceptance" / "README.md").read_text()
    known = set[str]()
    for file in TESTS.glob("*/test_*.py"):
        known |= {file.stem, *re.findall(r"def (test_\w+)", file.read_text())}
    named = re.findall(r"\btest_\w+…?", text)
    missing = [name for name in named if not any(_is(name, each) for each in known)]
    assert len(named) > 50
    assert missing == []


def _is(name: str, known: str) -> bool:
    return known.startswith(name.removesuffix("…")) if name.endswith("…") else known == name
