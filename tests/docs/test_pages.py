"""Every page of `docs` has a test that runs what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_readme import BLOCK, ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is_and_a_test_runs_it(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("```") == 2 * len(list(BLOCK.finditer(text)))
    module = Path(__file__).parent / f"test_{page.stem.replace('-', '_')}_page.py"
    assert "```" not in text or module.exists()
