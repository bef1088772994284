"""The page that compares: its command runs, and its tables speak of what the benchmarks measure."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from benchmarks.__main__ import PARTS
from benchmarks.runtime import parking, takeover
from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/comparison.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"] or ""): match["text"] for match in BLOCK.finditer(PAGE)}


def lines_shown() -> set[str]:
    """What the page's tables have a line for, whatever the numbers in it."""
    rows = re.findall(r"^\| (.+?) \|", PAGE, re.MULTILINE)
    return {without_numbers(row) for row in rows}


def without_numbers(line: str) -> str:
    return re.sub(r"[\d,]*\d", "#", line)


@pytest.mark.slow  # starts interpreters
def test_the_command_runs() -> None:
    arguments = shlex.split(BLOCKS["run", ""].splitlines()[-1])
    assert arguments[:3] == ["python", "-m", "benchmarks"]
    small = ["--tiny", "--json", "--no-peer", "--only", "ephemeral,import"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, *arguments[1:], *small], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode in {0, 1}, run.stderr  # 1: a bar was missed
    found = {without_numbers(figure["what"]) for figure in json.loads(run.stdout)["figures"]}
    assert len(found) == 3
    assert found <= lines_shown()


def test_the_page_names_every_part() -> None:
    (named,) = re.findall(r"The parts are (.*?)\.", PAGE, re.DOTALL)
    assert re.findall(r"`(\w+)`", named) == list(PARTS)


def test_what_is_said_of_how_it_was_measured_is_so() -> None:
    assert f"{parking.AT_A_TIME} at a time" in PAGE
    assert f"{takeover.HELD_AT_A_TIME} instances" in PAGE
