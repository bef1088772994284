"""What the command line prints in each format, from wherever it is run.

Tests named `e04` and so on are the cases of the issue survey with that number.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from flowx_cli.reporting import FORMATS
from flowx_cli.terminal import has_colour
from tests.cli.conftest import ROOT, Project

REPEATS = """

@flow("order.nudge{number}", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class Nudge{number}(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(start_job)
        flow.poll_until(
            nudge_job, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1S"
        ).on_timeout(lambda late: late.fail(TooLate))
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
"""


@pytest.fixture
def faulty(project: Project) -> Project:
    """A project in a deeper folder, with an error, a warning and a suppressed error in its flows."""
    flows = (project.root / "flows.py").read_text("utf-8")
    reason = "nudge_job,  # flowx: ignore[FLOWX1044] a nudge\n           "
    suppressed = REPEATS.format(number=2).replace("nudge_job,", reason).replace("PT1S", "PT1H")
    project.write("sub_folder/orders.py", flows + REPEATS.format(number=1) + suppressed)
    (project.root / "flows.py").unlink()
    return project


def stripped(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("format_", FORMATS)
def test_e04_paths_are_relative_with_slashes_also_from_a_subfolder(format_: str, faulty: Project) -> None:
    subfolder = replace(faulty, root=faulty.root / "sub_folder")
    from_root = faulty.flowx("build", "--format", format_)
    from_subfolder = subfolder.flowx("build", "--format", format_)
    assert from_root.returncode == 1, from_root.stderr
    assert from_subfolder.stdout == from_root.stdout
    assert "sub_folder/orders.py" in from_root.stdout
    for place in (str(faulty.root), "\\\\"):
        assert place not in from_root.stdout


@pytest.mark.parametrize("format_", FORMATS)
def test_a_check_names_files_from_where_it_is_run(format_: str, faulty: Project) -> None:
    subfolder = replace(faulty, root=faulty.root / "sub_folder")
    run = subfolder.flowx("check", "..", "--format", format_)
    assert run.returncode == 1, run.stderr
    assert "orders.py" in run.stdout
    assert str(faulty.root) not in run.stdout
    assert "sub_folder/orders.py" not in run.stdout


def test_a_fingerprint_is_the_same_from_every_folder_and_verb(faulty: Project) -> None:
    subfolder = replace(faulty, root=faulty.root / "sub_folder")
    runs = [
        faulty.flowx("build", "--format", "json"),
        faulty.flowx("check", "--format", "json"),
        subfolder.flowx("check", "..", "--format", "json"),
    ]
    found = [[item["fingerprint"] for item in json.loads(run.stdout)["diagnostics"]] for run in runs]
    assert found[1:] == found[:1] * 2
    assert len(found[0]) == 2


def test_e05_the_step_summary_has_every_finding(project: Project) -> None:
    flows = (project.root / "flows.py").read_text("utf-8")
    project.write("flows.py", flows + "".join(REPEATS.format(number=number) for number in range(25)))
    summary = project.root / "summary.md"
    summary.write_text("before\n", "utf-8")
    run = project.flowx("check", "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert len([line for line in lines if line.startswith("::error ")]) == 10
    assert len([line for line in lines if line.startswith("::warning ")]) == 10
    assert len(lines) == 20
    text = summary.read_text("utf-8")
    assert text.startswith("before\n### flowx: 25 errors, 25 warnings")
    assert text.count("| FLOWX1044 |") == 25
    assert text.count("| FLOWX1043 |") == 25


def test_e06_a_check_of_a_build_shows_findings_and_stale_files(project: Project) -> None:
    assert project.flowx("build").returncode == 0
    project.edit("flows.py", 'timeout="PT1H"', 'timeout="PT1S"')
    run = project.flowx("build", "--check", "--format", "concise")
    assert run.returncode == 1
    assert "FLOWX1043" in run.stdout
    assert "FLOWX1302 plans/order_place_v1_0_0.py is not what this source builds" in run.stdout


class Screen(io.StringIO):
    """A stream that is a terminal, or is none."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("environment", "is_terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_e07_colour(
    environment: dict[str, str], is_terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_colour(Screen(is_terminal=is_terminal)) is expected


def test_e07_a_pipe_gets_no_colour_unless_it_is_asked_for(faulty: Project) -> None:
    plain = faulty.flowx("check", NO_COLOR="")
    painted = faulty.flowx("check", NO_COLOR="", FORCE_COLOR="1")
    assert "\x1b" not in plain.stdout
    assert "\x1b[1;31m" in painted.stdout
    assert stripped(painted.stdout) == plain.stdout
    for format_ in FORMATS[1:]:
        assert "\x1b" not in faulty.flowx("check", "--format", format_, NO_COLOR="", FORCE_COLOR="1").stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(("term", "expected"), [("xterm", True), ("dumb", False)])
def test_e07_a_terminal_gets_colour_unless_it_is_dumb(term: str, *, expected: bool, faulty: Project) -> None:
    ours, theirs = os.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "flowx_cli", "check"]
    environment = kept | {"PYTHONPATH": str(ROOT), "TERM": term}
    with subprocess.Popen(command, cwd=faulty.root, env=environment, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            shown += part
        os.close(ours)
    assert process.returncode == 1
    assert (b"\x1b[1;31m" in shown) is expected


def test_statistics_follow_the_text_and_leave_documents_whole(faulty: Project) -> None:
    table = "1  FLOWX1043  warning  gap-longer-than-budget\n1  FLOWX1044  error    poll-over-non-idempotent\n"
    assert faulty.flowx("check", "--statistics").stdout.endswith(table)
    assert faulty.flowx("check", "--statistics", "--format", "concise").stdout.endswith(table)
    document = json.loads(faulty.flowx("check", "--statistics", "--format", "json").stdout)
    assert [row["id"] for row in document["statistics"]] == ["FLOWX1043", "FLOWX1044"]
    junit = faulty.flowx("check", "--statistics", "--format", "junit")
    ET.fromstring(junit.stdout)
    assert junit.stderr == table


def test_several_applications_are_one_document(project: Project) -> None:
    project.write(
        "pyproject.toml",
        '[tool.flowx]\n[[tool.flowx.application]]\nname = "one"\nsources = ["shop.py", "flows.py"]\n'
        'plans = "one.plans"\n'
        'manifest = "one.json"\n[[tool.flowx.application]]\nname = "two"\nsources = ["shop.py", "more.py"]\n'
        'plans = "two.plans"\nmanifest = "two.json"\n',
    )
    text = (project.root / "flows.py").read_text("utf-8")
    project.write("more.py", text.replace('"order.place"', '"order.more"').replace('"PT1H"', '"PT1S"'))
    run = project.flowx("build", "--format", "json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert [(item["file"], item["id"]) for item in document["diagnostics"]] == [("more.py", "FLOWX1043")]
    assert document["flows"] == 2
