"""Mistakes that other engines meet at run time, refused before anything runs; the number is that of the case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Project


def only_finding(project: Project, step: str) -> Any:
    project.edit("flows.py", "        flow.step(start_job)\n", f"        {step}\n")
    project.edit("flows.py", "from flowx_runtime import", "import time\n\nfrom flowx_runtime import")
    run = project.flowx("build", "--format", "json")
    assert run.returncode == 1
    (found,) = [each for each in json.loads(run.stdout)["diagnostics"] if each["severity"] == "error"]
    return found


def test_p12_a_step_that_cannot_be_called_is_refused_by_the_build(project: Project) -> None:
    found = only_finding(project, "flow.step(time.time)")
    assert found["id"] == "FLOWX1002"
    assert found["message"] == "`step` is given time, which is not a capability"
    assert not (project.root / "plans").exists()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("flow.steps(start_job)", "did you mean `step`?"),
        ("flow.wait_signal(start_job)", "did you mean `await_signal`?"),
        ("flow.run_parallel(start_job)", "did you mean `parallel`?"),
    ],
)
def test_p53_a_wrong_construct_is_told_with_the_right_one(project: Project, written: str, meant: str) -> None:
    found = only_finding(project, written)
    assert found["id"] == "FLOWX1201"
    assert found["help"] == meant
