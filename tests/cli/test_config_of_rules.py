"""`select`, `ignore`, `per-file-ignores`, `severity` and `baseline` of [tool.flowx], and the options beside them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.cli.conftest import PYPROJECT, Project


@pytest.fixture
def warned(project: Project) -> Project:
    """A project with one warning."""
    project.edit("flows.py", 'timeout="PT1H"', 'timeout="PT1S"')
    return project


def configure(project: Project, *lines: str) -> None:
    project.write("pyproject.toml", PYPROJECT + "".join(f"{line}\n" for line in lines))


def ids(project: Project, *arguments: str) -> list[str]:
    run = project.flowx(*arguments, "--format", "json")
    assert run.stdout, run.stderr
    return [item["id"] for item in json.loads(run.stdout)["diagnostics"]]


@pytest.mark.parametrize("verb", ["check", "build"])
@pytest.mark.parametrize(
    "setting",
    ['ignore = ["FLOWX1043"]', 'select = ["FLOWX1012"]', 'per-file-ignores = { "flows.py" = ["FLOWX1043"] }'],
)
def test_a_setting_silences_a_rule_in_both_verbs(verb: str, setting: str, warned: Project) -> None:
    assert ids(warned, verb) == ["FLOWX1043"]
    configure(warned, setting)
    assert ids(warned, verb) == []


@pytest.mark.parametrize("verb", ["check", "build"])
def test_an_option_silences_a_rule_in_both_verbs(verb: str, warned: Project) -> None:
    assert ids(warned, verb, "--ignore", "FLOWX1043") == []
    assert ids(warned, verb, "--ignore", "FLOWX1012,1043") == []
    assert ids(warned, verb, "--select", "FLOWX1012", "--select", "FLOWX1060") == []
    assert ids(warned, verb, "--select", "FLOWX1043") == ["FLOWX1043"]


def test_settings_hold_from_a_subfolder_too(warned: Project) -> None:
    configure(warned, 'per-file-ignores = { "flows.py" = ["FLOWX1043"] }')
    warned.write("sub/nothing.py", "")
    subfolder = replace(warned, root=warned.root / "sub")
    assert ids(subfolder, "check", "..") == []


def test_a_warning_made_an_error_stops_the_build(warned: Project) -> None:
    configure(warned, 'severity = { FLOWX1043 = "error" }')
    assert warned.flowx("build").returncode == 1
    assert warned.generated() == []


@pytest.mark.parametrize("verb", ["check", "build"])
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('ignore = ["FLOWX1044"]', "FLOWX1044"),
        ('per-file-ignores = { "flows.py" = ["FLOWX1044"] }', "FLOWX1044"),
        ('severity = { FLOWX1044 = "warning" }', "FLOWX1044"),
        ('ignore = ["FLOWX9999"]', "FLOWX9999"),
        ('select = ["FLOWX10122"]', "did you mean FLOWX1012"),
        ('severity = { FLOWX1043 = "info" }', "'info'"),
        ("severity = { FLOWX1043 = 1 }", "`severity`"),
        ('per-file-ignores = { "flows.py" = "FLOWX1043" }', "`per-file-ignores`"),
        ('ignore = "FLOWX1043"', "`ignore`"),
        ('baseline = "nowhere.json"', "nowhere.json"),
        ('baseline = "flows.py"', "is not a baseline"),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_exit_2(verb: str, setting: str, said: str, warned: Project) -> None:
    configure(warned, setting)
    run = warned.flowx(verb)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert warned.generated() == []


def test_a_wrong_option_is_one_sentence_and_exit_2(warned: Project) -> None:
    for option in (("--ignore", "FLOWX1044"), ("--ignore", "x"), ("--select", "FLOWX9999")):
        run = warned.flowx("check", *option)
        assert (run.returncode, run.stdout) == (2, "")
        assert len(run.stderr.splitlines()) == 1


def test_a_check_without_a_project_still_takes_options(warned: Project) -> None:
    (warned.root / "pyproject.toml").unlink()
    assert ids(warned, "check") == ["FLOWX1043"]
    assert ids(warned, "check", "--ignore", "FLOWX1043") == []


def test_a_baseline_is_written_held_to_and_told_when_it_is_stale(warned: Project) -> None:
    written = warned.flowx("check", "--write-baseline", "known.json")
    assert written.returncode == 0
    assert "nothing found in 1 flow (1 in the baseline)" in written.stdout
    configure(warned, 'baseline = "known.json"')
    for verb in ("check", "build"):
        assert ids(warned, verb) == []
        assert "(1 in the baseline)" in warned.flowx(verb).stdout
    warned.edit("flows.py", 'timeout="PT1S"', 'timeout="PT1H"')
    run = warned.flowx("check")
    assert run.returncode == 0
    assert "no longer found, though in the baseline: FLOWX1043 in flows.py" in run.stdout
    assert "1 stale baseline entry" in run.stdout
    document = json.loads(warned.flowx("check", "--format", "json").stdout)
    assert [entry["id"] for entry in document["baseline"]["stale"]] == ["FLOWX1043"]
    assert warned.flowx("check", "--write-baseline", "known.json").returncode == 0
    assert json.loads((warned.root / "known.json").read_text("utf-8"))["findings"] == []


def test_a_file_that_is_gone_leaves_stale_entries(warned: Project) -> None:
    text = (warned.root / "flows.py").read_text("utf-8")
    warned.write("more.py", text.replace('"order.place"', '"order.more"'))
    warned.flowx("check", "--write-baseline", "known.json")
    configure(warned, 'baseline = "known.json"')
    assert json.loads(warned.flowx("check", "--format", "json").stdout)["baseline"] == {"known": 2, "stale": []}
    (warned.root / "more.py").unlink()
    document = json.loads(warned.flowx("check", "--format", "json").stdout)
    assert [entry["file"] for entry in document["baseline"]["stale"]] == ["more.py"]


def test_no_baseline_takes_in_what_safety_rules_find(warned: Project) -> None:
    warned.edit("flows.py", "            job_status,", "            nudge_job,")
    run = warned.flowx("check", "--write-baseline", "known.json", "--format", "concise")
    assert run.returncode == 1
    assert run.stdout.count("FLOWX") == 1
    assert "FLOWX1044" in run.stdout


def test_a_baseline_that_cannot_be_written_is_one_sentence_and_exit_2(warned: Project) -> None:
    run = warned.flowx("check", "--write-baseline", "no/such/folder.json")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
