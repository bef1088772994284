"""`build --fix`, `--fix --diff` and `--watch`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flowx_cli.watching import snapshot, wait_for_change
from tests.cli.conftest import ROOT, Project


def test_fix_mends_the_source_and_builds(edited: Callable[[str, str], Project]) -> None:
    project = edited(", profile=Profile.DURABLE", "")
    run = project.flowx("build", "--fix")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "fixed flows.py" in run.stderr
    assert "profile=Profile.DURABLE" in (project.root / "flows.py").read_text("utf-8")
    assert project.generated() != []
    assert "fixed" not in project.flowx("build", "--fix").stderr


def test_diff_shows_the_change_and_makes_none(edited: Callable[[str, str], Project]) -> None:
    project = edited(", profile=Profile.DURABLE", "")
    before = (project.root / "flows.py").read_bytes()
    run = project.flowx("build", "--fix", "--diff")
    assert run.returncode == 1
    assert '+@flow("order.place", version="1.0.0", deadline="P30D", profile=Profile.DURABLE)' in run.stdout
    assert (project.root / "flows.py").read_bytes() == before
    assert project.generated() == []


def test_a_file_keeps_its_newlines(edited: Callable[[str, str], Project]) -> None:
    project = edited(", profile=Profile.DURABLE", "")
    text = (project.root / "flows.py").read_text("utf-8")
    (project.root / "flows.py").write_bytes(text.replace("\n", "\r\n").encode())
    assert project.flowx("build", "--fix").returncode == 0
    mended = (project.root / "flows.py").read_bytes()
    assert mended.count(b"\r\n") == mended.count(b"\n")


@pytest.mark.parametrize("options", [["--diff"], ["--check", "--fix"], ["--check", "--watch"]])
def test_options_that_contradict_each_other_are_refused(project: Project, options: list[str]) -> None:
    assert project.flowx("build", *options).returncode == 2


def test_waiting_ends_when_a_source_changes_and_not_when_a_plan_does(tmp_path: Path) -> None:
    plans = tmp_path / "plans"
    plans.mkdir()
    (tmp_path / "flows.py").write_text("", "utf-8")
    looks = 0

    def pause(_: float) -> None:
        nonlocal looks
        looks += 1
        target = plans / "made.py" if looks == 1 else tmp_path / "new.py"
        target.write_text("x = 1\n", "utf-8")

    wait_for_change(snapshot([tmp_path], [plans]), [tmp_path], [plans], pause=pause)
    assert looks == 2


@pytest.mark.slow  # a process that watches
def test_watch_builds_again_after_an_edit(project: Project) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "flowx_cli", "build", "--watch"]
    watching = subprocess.Popen(
        command, cwd=project.root, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        assert watching.stderr is not None
        while "watching" not in watching.stderr.readline():
            assert watching.poll() is None
        project.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
        deadline = time.monotonic() + 30
        while "plans/order_place_v1_1_0.py" not in project.generated():
            assert time.monotonic() < deadline, "no build followed the edit"
            time.sleep(0.05)  # another process is building
    finally:
        watching.terminate()
        watching.wait()
