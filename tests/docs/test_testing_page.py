"""Every test on the page about testing passes, and the one that fails shows what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"
BLOCK = re.compile(r"<!-- (?P<kind>\w+): (?P<example>\w+) -->\n```\w+\n(?P<text>.*?)\n```", re.DOTALL)


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [ROOT, *(ROOT / "examples" / name for name in ("polling", "offers"))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "flowx_runtime.testing.pytest_plugin", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def write_tests(folder: Path) -> list[tuple[str, str]]:
    """A file for each block, in a project that has the example's settings; gives what is to be shown."""
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    blocks = [block for block in BLOCK.finditer(PAGE.read_text("utf-8")) if block["kind"] != "command"]
    for number, block in enumerate(blocks):
        project = folder / block["example"]
        project.mkdir(exist_ok=True)
        settings = (ROOT / "examples" / block["example"] / "pyproject.toml").read_text("utf-8")
        (project / "pyproject.toml").write_text(settings, "utf-8")
        if block["kind"] != "shows":
            (project / f"test_{block['kind']}_{number}.py").write_text(block["text"] + "\n", "utf-8")
    return [(block["example"], block["text"]) for block in blocks if block["kind"] == "shows"]


def test_the_tests_on_the_page_pass_and_the_failing_one_explains_itself_as_shown(tmp_path: Path) -> None:
    ((_, shown),) = write_tests(tmp_path)
    ran = run_pytest(tmp_path)
    assert "1 failed, 4 passed" in ran.stdout, ran.stdout
    assert shown in ran.stdout
    explained = ran.stdout.partition(" FAILURES ")[2].partition(" short test summary info ")[0]
    assert len(explained.splitlines()) < 30, explained


def test_the_commands_name_what_there_is() -> None:
    text = PAGE.read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "testing" in project["optional-dependencies"]
    assert "pip install 'flowx-durable[testing]'" in text
    help = run_pytest(ROOT, "--help").stdout
    for option in ("--flowx-postgres", "--flowx-seed"):
        assert option in text
        assert option in help


def test_every_block_of_code_is_run() -> None:
    text = PAGE.read_text("utf-8")
    assert text.count("```python") == len(
        [block for block in BLOCK.finditer(text) if block["kind"] in ("test", "fails")]
    )
