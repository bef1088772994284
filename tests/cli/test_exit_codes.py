"""0 nothing found, 1 the check says no, 2 the command was wrong, 3 the named thing is not there.

Tests named `e01` and so on are the cases of the issue survey with that number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowx_cli.reporting import FORMATS
from tests.cli.conftest import Project

MEMORY = Path("/proc/self/mem")
"""A file that exists and cannot be read, not even by root."""


def one_sentence(text: str) -> bool:
    return len(text.splitlines()) == 1 and "Traceback" not in text and "defect" not in text


@pytest.mark.parametrize("format_", FORMATS)
def test_the_exit_code_comes_from_the_findings_and_never_from_the_format(format_: str, project: Project) -> None:
    assert project.flowx("check", "--format", format_).returncode == 0
    project.edit("flows.py", 'timeout="PT1H"', 'timeout="PT1S"')
    assert project.flowx("check", "--format", format_).returncode == 0, "a warning says yes"
    project.edit("flows.py", "            job_status,", "            nudge_job,")
    assert project.flowx("check", "--format", format_).returncode == 1
    reason = "            nudge_job,  # flowx: ignore[FLOWX1044] nudges add nothing\n           "
    project.edit("flows.py", "            nudge_job,", reason)
    assert project.flowx("check", "--format", format_).returncode == 0


@pytest.mark.parametrize("verb", ["check", "build"])
def test_e01_a_missing_path_is_exit_2(verb: str, project: Project) -> None:
    run = project.flowx(verb, "nope.py", "--select", "FLOWX1012")
    assert (run.returncode, run.stdout) == (2, "")
    assert "nope.py" in run.stderr
    assert one_sentence(run.stderr)


@pytest.mark.skipif(not MEMORY.exists(), reason="needs a file that nobody can read")
@pytest.mark.parametrize("verb", ["check", "build"])
def test_e01_an_unreadable_file_is_exit_2(verb: str, project: Project) -> None:
    (project.root / "unreadable.py").symlink_to(MEMORY)
    run = project.flowx(verb)
    assert (run.returncode, run.stdout) == (2, "")
    assert "unreadable.py cannot be read" in run.stderr
    assert one_sentence(run.stderr)


@pytest.mark.parametrize("verb", ["check", "build"])
@pytest.mark.parametrize("toml", [b"[tool.flowx\n", b"[tool.flowx]\nplans = 'a\xff'\n"])
def test_e01_bad_toml_is_exit_2(verb: str, toml: bytes, project: Project) -> None:
    (project.root / "pyproject.toml").write_bytes(toml)
    run = project.flowx(verb)
    assert (run.returncode, run.stdout) == (2, "")
    assert "pyproject.toml is not TOML" in run.stderr
    assert one_sentence(run.stderr)


@pytest.mark.parametrize("arguments", [("--format", "yaml"), ("--no-such-option",), ("--select",)])
def test_a_wrong_option_is_exit_2(arguments: tuple[str, ...], project: Project) -> None:
    run = project.flowx("check", *arguments)
    assert run.returncode == 2
    assert run.stdout == ""


def test_a_rule_that_is_not_there_is_exit_3(project: Project) -> None:
    assert project.flowx("explain", "FLOWX9999").returncode == 3


@pytest.mark.parametrize("rule", ["FLOWX1290", "FLOWX1291", "1290"])
def test_what_is_said_about_suppressions_can_be_explained(rule: str, project: Project) -> None:
    run = project.flowx("explain", rule)
    assert run.returncode == 0
    assert "When to suppress:" in run.stdout


BROKEN = {
    "FLOWX1280": b"import flowx_runtime\ndef f(:\n",
    "FLOWX1281": b"import flowx_runtime\nx = '\xff'\n",
    "FLOWX1282": b"import flowx_runtime\nx = " + b"(" * 300 + b"1" + b")" * 300 + b"\n",
}


@pytest.mark.parametrize("id", BROKEN)
def test_e08_a_file_that_cannot_be_read_has_an_id_of_its_own_and_is_never_clean(id: str, project: Project) -> None:
    (project.root / "flows.py").write_bytes(BROKEN[id])
    for arguments in ((), ("--select", "FLOWX1012"), ("--allow-empty",)):
        run = project.flowx("check", "--format", "json", *arguments)
        assert run.returncode == 1, run.stderr
        assert [item["id"] for item in json.loads(run.stdout)["diagnostics"]] == [id]
    ignoring = project.flowx("check", "--ignore", id)
    assert ignoring.returncode == 2
    assert one_sentence(ignoring.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes that break")
def test_a_reader_that_has_left_is_told_from_a_check_that_says_no(project: Project) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        for arguments in (["--help"], ["explain", "FLOWX1012"]):
            ended = subprocess.run(
                [sys.executable, "-m", "flowx_cli", *arguments],
                stdout=writes,
                stderr=subprocess.PIPE,
                cwd=project.root,
                check=False,
            )
            assert (ended.returncode, ended.stderr) == (141, b"")
    finally:
        os.close(writes)
