"""A build overwrites what a build wrote, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import PYPROJECT, Project


@pytest.mark.parametrize(
    ("setting", "file", "content", "says"),
    [
        ('manifest = "pyproject.toml"', "pyproject.toml", None, "is no name of a JSON file"),
        ('manifest = "flows.py"', "flows.py", None, "is no name of a JSON file"),
        ('manifest = "package.json"', "package.json", '{"name": "shop"}', "package.json was not written by flowx"),
        ('manifest = "list.json"', "list.json", "[1, 2]", "list.json was not written by flowx"),
        ('plans = "flows"', "flows.py", None, "which is the module"),
        ('plans = "lib"', "lib/__init__.py", "VALUE = 1\n", "lib/__init__.py was not written by flowx"),
    ],
)
def test_a_setting_that_names_somebodys_file_costs_nobody_that_file(
    project: Project, setting: str, file: str, content: str | None, says: str
) -> None:
    if content is not None:
        project.write(file, content)
    text = PYPROJECT.replace('plans = "plans"\n', "") if setting.startswith("plans") else PYPROJECT
    project.write("pyproject.toml", f"{text}{setting}\n")
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    run = project.flowx("build", "--no-cache")
    assert run.returncode == 2
    assert says in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()} == before


def test_an_empty_package_that_was_made_for_plans_is_filled(project: Project) -> None:
    project.write("plans/__init__.py", "")
    assert project.flowx("build").returncode == 0


def test_a_manifest_that_a_merge_has_spoilt_is_written_anew(project: Project) -> None:
    project.write("flowx.manifest.json", "<<<<<<< HEAD\n{}\n")
    assert project.flowx("build").returncode == 0
    assert project.flowx("build", "--check").returncode == 0


def test_a_checkout_that_ends_lines_another_way_is_current(project: Project) -> None:
    assert project.flowx("build").returncode == 0
    for path in (project.root / "flowx.manifest.json", *(project.root / "plans").glob("*.py")):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    run = project.flowx("build", "--check")
    assert run.returncode == 0, run.stdout
    assert project.flowx("build").stderr == ""


@pytest.mark.parametrize("case", ["binary", "folder"])
def test_what_the_disk_holds_or_refuses_is_no_defect_of_flowx(project: Project, case: str) -> None:
    if case == "binary":
        (project.root / "plans").mkdir()
        Path(project.root / "plans" / "order_place_v0_9_0.py").write_bytes(b"\xff\xfe\x00")
    else:
        (project.root / "flowx.manifest.json").mkdir()
    run = project.flowx("build")
    assert run.returncode == 2
    assert "defect" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert ("order_place_v0_9_0.py" if case == "binary" else "flowx.manifest.json") in run.stderr
