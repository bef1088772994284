"""A released version keeps its meaning: what building says, keeps, and takes away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Project

ORDER = '{"order_id": "o1", "lines": [], "total": 1, "express": false, "channel": "retail"}'
PLAN = "plans/order_place_v1_0_0.py"


def git(project: Project, *arguments: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *arguments], cwd=project.root, check=True, capture_output=True)


@pytest.fixture
def released(project: Project) -> Project:
    """A project whose flow is built and committed."""
    assert project.flowx("build").returncode == 0
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Release 1.0.0")
    return project


def change_steps(project: Project) -> None:
    project.edit(
        "flows.py", "        flow.step(start_job)\n", "        flow.step(start_job)\n        flow.step(open_review)\n"
    )


def test_p05_editing_the_steps_of_a_released_version_fails_the_build_and_writes_nothing(released: Project) -> None:
    manifest, plan = (released.root / "flowx.manifest.json").read_bytes(), (released.root / PLAN).read_bytes()
    change_steps(released)
    run = released.flowx("build")
    assert run.returncode == 1
    assert "error[FLOWX1301]: 'order.place' is not what was committed as version 1.0.0" in run.stdout
    assert "give it a new version, for example 1.1.0" in run.stdout
    assert (released.root / "flowx.manifest.json").read_bytes() == manifest
    assert (released.root / PLAN).read_bytes() == plan
    assert released.flowx("build").returncode == 1, "saying it once does not wear it out"


def test_p03_p14_the_diff_of_such_an_edit_is_040_and_under_a_new_version_it_is_212(released: Project) -> None:
    old = (released.root / "flowx.manifest.json").read_text("utf-8")
    released.write("old.json", old)
    change_steps(released)
    (released.root / ".git").rename(released.root.parent / "no-git")
    built = released.flowx("build")
    assert "order.place 1.0.0 has another plan than before under the same version" in built.stderr
    run = released.flowx("diff", "old.json", "flowx.manifest.json", "--format", "json")
    assert run.returncode == 1
    assert "FLOWX-DIFF-040" in {item["code"] for item in json.loads(run.stdout)["findings"]}


def test_under_a_new_version_the_former_plan_stays_and_still_loads(released: Project) -> None:
    former = (released.root / PLAN).read_text("utf-8")
    released.write("old.json", (released.root / "flowx.manifest.json").read_text("utf-8"))
    change_steps(released)
    released.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
    run = released.flowx("build")
    assert run.returncode == 0, run.stdout
    assert released.generated() == ["flowx.manifest.json", "plans/__init__.py", PLAN, "plans/order_place_v1_1_0.py"]
    assert former.partition('"""\n\n')[2] in (released.root / PLAN).read_text("utf-8")
    load = "from plans import CATALOG; print(CATALOG.plan('order.place', '1.0.0').digest)"
    loaded = subprocess.run(
        [sys.executable, "-c", load],
        cwd=released.root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(released.root)])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() in former
    diff = released.flowx("diff", "old.json", "flowx.manifest.json", "--format", "json")
    assert diff.returncode == 0
    assert [item["code"] for item in json.loads(diff.stdout)["findings"]] == ["FLOWX-DIFF-212"]


def test_who_goes_back_to_a_version_that_was_left_behind_finds_it_released(released: Project) -> None:
    released.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
    change_steps(released)
    assert released.flowx("build").returncode == 0
    git(released, "add", "-A")
    git(released, "commit", "-q", "-m", "Release 1.1.0")
    plan = (released.root / PLAN).read_bytes()
    released.edit("flows.py", 'version="1.1.0"', 'version="1.0.0"')
    run = released.flowx("build")
    assert run.returncode == 1
    assert "error[FLOWX1301]: 'order.place' is not what was committed as version 1.0.0" in run.stdout
    assert (released.root / PLAN).read_bytes() == plan
    now, before = "        flow.step(start_job)\n        flow.step(open_review)\n", "        flow.step(start_job)\n"
    released.edit("flows.py", now, before)
    assert released.flowx("build").returncode == 0, "taken back as it was"


def test_a_repository_that_git_does_not_trust_is_not_one_without_releases(released: Project) -> None:
    change_steps(released)
    stranger = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    checked = released.flowx("build", "--check", **stranger)
    assert checked.returncode == 2
    assert "git does not trust" in checked.stderr
    assert "safe.directory" in checked.stderr
    built = released.flowx("build", **stranger)
    assert built.returncode == 2, "it is written, and yet nobody takes it for a good build"
    assert "nothing can be held to what is released" in built.stderr


def test_what_does_not_change_the_meaning_is_no_change(released: Project) -> None:
    released.edit(
        "flows.py", "        flow.step(start_job)\n", "        # The job comes first.\n        flow.step(start_job)\n"
    )
    assert released.flowx("build").returncode == 0
    assert released.flowx("build", "--check").returncode == 0


def test_a_pre_release_version_may_change_as_often_as_its_author_likes(released: Project) -> None:
    released.edit("flows.py", 'version="1.0.0"', 'version="1.1.0-dev.1"')
    released.flowx("build")
    git(released, "add", ".")
    git(released, "commit", "-q", "-m", "Begin 1.1.0")
    change_steps(released)
    run = released.flowx("build")
    assert run.returncode == 0, run.stdout
    assert "order.place 1.1.0-dev.1 has another plan than before" in run.stderr


def test_it_can_be_suppressed_at_the_flow_and_nowhere_else(released: Project) -> None:
    change_steps(released)
    released.write("pyproject.toml", '[tool.flowx]\nsources = ["."]\nplans = "plans"\nignore = ["FLOWX1301"]\n')
    run = released.flowx("build")
    assert run.returncode == 2
    assert "FLOWX1301" in run.stderr
    released.write("pyproject.toml", '[tool.flowx]\nsources = ["."]\nplans = "plans"\n')
    assert released.flowx("build", "--ignore", "FLOWX1301").returncode == 2
    released.edit("flows.py", "@flow(", "# flowx: ignore[FLOWX1301] it was never deployed\n@flow(")
    run = released.flowx("build", "--format", "concise")
    assert run.returncode == 0, run.stdout
    assert "FLOWX1290" not in run.stdout


def test_a_stale_file_is_a_finding_in_every_format_and_the_check_writes_nothing(project: Project) -> None:
    project.flowx("build")
    change_steps(project)
    (project.root / "plans/__init__.py").unlink()
    run = project.flowx("build", "--check", "--format", "json")
    assert run.returncode == 1
    found = [item for item in json.loads(run.stdout)["diagnostics"] if item["id"] == "FLOWX1302"]
    assert [(item["file"], item["message"]) for item in found] == [
        ("flows.py", f"{PLAN} is not what this source builds"),
        ("flowx.manifest.json", "flowx.manifest.json is not what this source builds"),
        ("plans/__init__.py", "plans/__init__.py is not there"),
    ]
    for form in ("text", "concise", "sarif", "github", "gitlab", "junit"):
        assert "FLOWX1302" in project.flowx("build", "--check", "--format", form).stdout
    assert project.generated() == ["flowx.manifest.json", PLAN]


class TestPrune:
    @pytest.fixture
    def retired(self, project: Project) -> Project:
        """A project whose flow has left version 1.0.0 behind."""
        project.flowx("build")
        project.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
        project.flowx("build")
        return project

    @pytest.fixture
    def parked(self, project: Project, postgres_dsn: str) -> Project:
        """The same, with an instance that is parked under 1.0.0."""
        project.edit("flows.py", "ctx.get(JobStatus).done", "not ctx.get(JobStatus).done")
        project.flowx("build")
        run = project.flowx("run", "order.place", "--input", ORDER, "--dsn", postgres_dsn)
        assert "suspended" in run.stdout, run.stdout + run.stderr
        project.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
        project.flowx("build")
        return project

    def test_a_plan_that_nothing_needs_goes(self, retired: Project, postgres_dsn: str) -> None:
        run = retired.flowx("build", "--prune", "order.place@1.0.0", "--dsn", postgres_dsn, FLOWX_DSN="")
        assert run.returncode == 0, run.stderr
        assert f"removed {PLAN}" in run.stderr
        assert retired.generated() == ["flowx.manifest.json", "plans/__init__.py", "plans/order_place_v1_1_0.py"]
        assert "retiredPlans" not in (retired.root / "flowx.manifest.json").read_text("utf-8")
        assert retired.flowx("build", "--check").returncode == 0

    def test_a_plan_that_an_open_instance_needs_stays(self, parked: Project, postgres_dsn: str) -> None:
        run = parked.flowx("build", "--prune", "1.0.0", "--dsn", postgres_dsn)
        assert run.returncode == 1
        assert "order.place@1.0.0 is needed by" in run.stderr
        assert PLAN in parked.generated()

    def test_without_a_database_it_is_not_taken_for_unneeded(self, retired: Project) -> None:
        run = retired.flowx("build", "--prune", "1.0.0", FLOWX_DSN="")
        assert run.returncode == 2
        assert "--dsn" in run.stderr
        assert PLAN in retired.generated()

    @pytest.mark.parametrize("name", ["1.1.0", "9.9.9", "other.flow@1.0.0"])
    def test_what_is_current_or_unknown_is_not_removed(self, retired: Project, postgres_dsn: str, name: str) -> None:
        before = retired.generated()
        run = retired.flowx("build", "--prune", name, "--dsn", postgres_dsn)
        assert run.returncode == 3
        assert f"no retired plan is named '{name}'" in run.stderr
        assert retired.generated() == before

    def test_it_is_a_way_out_of_a_build_that_the_plan_refuses(self, project: Project, postgres_dsn: str) -> None:
        project.edit("flows.py", '"order.place"', '"order.shift"')
        project.flowx("build")
        project.edit("flows.py", 'version="1.0.0"', 'version="1.1.0"')
        project.edit(
            "shop.py",
            'JITTERED: Final = Backoff.exponential_jitter("PT5S", "PT5M")',
            'JITTERED: Final = Backoff.exponential_jitter("PT6S", "PT5M")',
        )
        refused = project.flowx("build")
        assert "FLOWX1304" in refused.stdout
        run = project.flowx("build", "--prune", "order.shift@1.0.0", "--dsn", postgres_dsn, FLOWX_DSN="")
        assert run.returncode == 0, run.stdout + run.stderr
        assert "plans/order_shift_v1_0_0.py" not in project.generated()
        assert "plans/order_shift_v1_1_0.py" in project.generated()


SPOILT = {
    "conflict": b'<<<<<<< HEAD\n{}\n=======\n{"a": 1}\n>>>>>>> topic\n',
    "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "other": b'{"name": "x"}',
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_committed_manifest_that_cannot_be_read_is_told_and_never_taken_for_nothing_released(
    released: Project, spoilt: str
) -> None:
    manifest = released.root / "flowx.manifest.json"
    good = manifest.read_bytes()
    manifest.write_bytes(SPOILT[spoilt])
    git(released, "commit", "-q", "-a", "-m", "Merge")
    manifest.write_bytes(good)
    change_steps(released)
    run = released.flowx("build", "--check")
    assert run.returncode == 2
    assert "cannot be read as git's HEAD has it" in run.stderr
    manifest.unlink()
    run = released.flowx("build")
    assert run.returncode == 2, "it is written, so that it can be committed, and yet nobody takes it for a good build"
    assert json.loads(manifest.read_bytes())["flows"]
    assert "commit that" in run.stderr
