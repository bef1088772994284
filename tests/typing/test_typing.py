"""The mistakes that an editor must show before the compiler runs, pinned with both type checkers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def lines_by_mypy() -> dict[str, Counter[int]]:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "correct.py", "mistakes.py"],
        cwd=HERE,
        env={
            "MYPYPATH": f"{ROOT}:{HERE}",
            "PATH": "/usr/bin:/bin",
            "HOME": str(HERE),
            "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Counter[int]] = {"correct.py": Counter(), "mistakes.py": Counter()}
    for line in run.stdout.splitlines():
        match = re.match(r"([\w/.]+):(\d+): error: ", line)
        if match:
            assert match[1] in found, f"an error in a file that should be clean: {line}"
            found[match[1]][int(match[2])] += 1
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return found


def lines_by_pyright() -> dict[str, Counter[int]]:
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Counter[int]] = {"correct.py": Counter(), "mistakes.py": Counter()}
    for item in json.loads(run.stdout)["generalDiagnostics"]:
        if item["severity"] == "error":
            found[Path(item["file"]).name][item["range"]["start"]["line"] + 1] += 1
    return found


def marked(name: str) -> list[int]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# mistake")]


@pytest.mark.slow  # two type checkers start and read pydantic
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_each_mistake_is_an_error_on_its_line_and_correct_code_has_none(checker: str) -> None:
    found = lines_by_mypy() if checker == "mypy" else lines_by_pyright()
    assert found["correct.py"] == Counter()
    # mypy says "wrong argument" and "wrong return value" for one wrong lambda; what counts is the line.
    assert sorted(found["mistakes.py"]) == marked("mistakes.py")
