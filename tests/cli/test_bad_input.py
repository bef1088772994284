"""What people get wrong on the first day: one clear finding or sentence, the right exit code, and no file written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.cli.conftest import Project

POLL = "            job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED"
MISTAKES = {
    "an ephemeral profile": ("profile=Profile.DURABLE", "profile=Profile.EPHEMERAL", "FLOWX1017"),
    "polling what is not idempotent": ("            job_status,", "            nudge_job,", "FLOWX1044"),
    "a second or_signal": (
        ").on_timeout(",
        ").or_signal(JobFinished).or_signal(PaymentConfirmed).on_timeout(",
        "FLOWX1203",
    ),
    "a loop in define": (
        "        flow.step(start_job)",
        "        for _ in range(2):\n            flow.step(start_job)",
        "FLOWX1212",
    ),
    "a syntax error": ("        flow.step(start_job)", "        flow.step(start_job", "FLOWX1280"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_finding_exit_1_and_nothing_written(mistake: str, edited: Callable[[str, str], Project]) -> None:
    old, new, id = MISTAKES[mistake]
    project = edited(old, new)
    if "or_signal" in new:
        project.edit("flows.py", "JITTERED, JobStatus", "JITTERED, JobFinished, JobStatus, PaymentConfirmed")
    run = project.flowx("build", "--format", "json")
    assert run.returncode == 1, run.stderr
    found = json.loads(run.stdout)["diagnostics"]
    assert [item["id"] for item in found] == [id]
    assert found[0]["severity"] == "error"
    assert found[0]["help"]
    assert project.generated() == []
    assert "Traceback" not in run.stderr


def test_an_interval_longer_than_the_budget_is_a_warning(edited: Callable[[str, str], Project]) -> None:
    project = edited('timeout="PT1H"', 'timeout="PT1S"')
    run = project.flowx("build", "--format", "json")
    assert run.returncode == 0
    found = json.loads(run.stdout)["diagnostics"]
    assert [(item["id"], item["severity"]) for item in found] == [("FLOWX1043", "warning")]
    assert "PT5S" in found[0]["message"]
    assert "PT1S" in found[0]["message"]


def test_a_missing_file_is_one_sentence_and_exit_2(project: Project) -> None:
    for verb in ("check", "build"):
        run = project.flowx(verb, "nowhere.py")
        assert run.returncode == 2
        assert run.stdout == ""
        assert "nowhere.py" in run.stderr
        assert len(run.stderr.splitlines()) == 1


def test_a02_an_empty_project_is_one_sentence_and_exit_2(project: Project) -> None:
    (project.root / "flows.py").unlink()
    for verb in ("check", "build"):
        run = project.flowx(verb)
        assert run.returncode == 2
        assert "0 flows" in run.stderr
    assert project.generated() == []


def test_without_a_configuration_build_says_what_to_add(project: Project) -> None:
    (project.root / "pyproject.toml").unlink()
    run = project.flowx("build")
    assert run.returncode == 2
    assert "[tool.flowx]" in run.stderr


def test_an_unknown_setting_is_named_with_the_nearest_known_one(project: Project) -> None:
    project.write("pyproject.toml", '[tool.flowx]\nsource = ["."]\nplans = "plans"\n')
    run = project.flowx("build")
    assert run.returncode == 2
    assert "`source`" in run.stderr
    assert "`sources`" in run.stderr


def test_broken_toml_is_one_sentence_and_exit_2(project: Project) -> None:
    project.write("pyproject.toml", "[tool.flowx\n")
    run = project.flowx("build")
    assert run.returncode == 2
    assert "is not TOML" in run.stderr


def test_a_broken_file_hides_nothing_in_the_others(project: Project) -> None:
    project.write("broken.py", "import flowx_runtime\ndef f(:\n")
    project.edit("flows.py", "            job_status,", "            nudge_job,")
    found = json.loads(project.flowx("check", "--format", "json").stdout)["diagnostics"]
    assert [(item["file"], item["id"]) for item in found] == [("broken.py", "FLOWX1280"), ("flows.py", "FLOWX1044")]


def test_a_good_project_builds_and_building_again_writes_nothing(project: Project) -> None:
    first = project.flowx("build")
    assert first.returncode == 0, first.stdout + first.stderr
    assert project.generated() == ["flowx.manifest.json", "plans/__init__.py", "plans/order_place_v1_0_0.py"]
    assert project.flowx("build").stderr == ""
    assert project.flowx("build", "--check").returncode == 0


def test_check_says_which_generated_file_is_stale_and_writes_nothing(project: Project) -> None:
    project.flowx("build")
    before = (project.root / "flowx.manifest.json").read_bytes()
    project.edit("flows.py", 'deadline="P30D"', 'deadline="P31D"')
    run = project.flowx("build", "--check")
    assert run.returncode == 1
    assert "plans/order_place_v1_0_0.py is not what this source builds" in run.stdout
    assert (project.root / "flowx.manifest.json").read_bytes() == before


def test_the_text_of_a_finding_has_excerpts_of_both_places(edited: Callable[[str, str], Project]) -> None:
    run = edited("            job_status,", "            nudge_job,").flowx("check")
    assert re.match(r"error\[FLOWX1044\]: `poll_until` repeats 'job.nudge', which is not idempotent\n", run.stdout)
    assert "flows.py:12:13" in run.stdout
    assert "^^^^^^^^^" in run.stdout
    assert "shop.py:" in run.stdout
    assert "= help: split the effect from the question" in run.stdout
    assert "= docs: flowx explain FLOWX1044" in run.stdout


def test_explain_knows_every_id_it_prints(project: Project) -> None:
    run = project.flowx("explain", "FLOWX1044")
    assert run.returncode == 0
    assert "Refused" in run.stdout
    assert project.flowx("explain", "FLOWX9999").returncode == 3
