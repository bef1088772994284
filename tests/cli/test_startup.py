"""What the command line imports before it must: counted in modules, for seconds depend on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Project

HEAVY = ("libcst", "pydantic", "psycopg", "jsonschema", "asyncio", "multiprocessing", "importlib.metadata")
SHOW = """
import sys
sys.argv = ["flowx", *sys.argv[1:]]
from flowx_cli.__main__ import main
try:
    main()
finally:
    print("imported", *(name for name in sorted(sys.modules)), file=sys.stderr)
"""


def imported(*arguments: str, at: Path) -> frozenset[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *arguments],
        cwd=at,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(done.stderr.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("explain", "FLOWX1044")])
def test_what_answers_from_itself_imports_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert not imported(*arguments, at=tmp_path) & set(HEAVY)


def test_explaining_a_rule_imports_that_rule_alone(tmp_path: Path) -> None:
    modules = imported("explain", "FLOWX1044", at=tmp_path)

    assert [name for name in modules if name.startswith("flowx_compiler.rules.flowx")] == [
        "flowx_compiler.rules.flowx1044_poll_over_non_idempotent"
    ]


def test_a_build_of_an_unchanged_project_imports_neither_reader_nor_rules(project: Project) -> None:
    first = imported("build", at=project.root)
    second = imported("build", at=project.root)

    assert "libcst" in first
    assert "libcst.matchers" not in first
    assert not second & set(HEAVY)
    assert not second & {"flowx_compiler.build", "flowx_compiler.rules.run", "flowx_compiler.model"}
