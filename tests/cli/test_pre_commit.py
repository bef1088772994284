"""pre-commit runs both hooks in a repository of its own; a hook that says no shows why."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import FLOW, ROOT, Project


@dataclass(frozen=True)
class Repository:
    """A project under git with both hooks installed, and a `flowx` that writes down when it is called."""

    project: Project
    environment: dict[str, str]
    calls: Path

    def run(self, *command: str, succeeds: bool = True) -> str:
        done = subprocess.run(
            command, cwd=self.project.root, env=self.environment, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        assert (done.returncode == 0) is succeeds, output
        return output

    def commit(self, message: str, *, succeeds: bool = True) -> str:
        self.calls.write_text("")
        self.run("git", "add", ".")
        return self.run("git", "commit", "-m", message, succeeds=succeeds)

    @property
    def called(self) -> list[str]:
        return self.calls.read_text("utf-8").splitlines()


@pytest.fixture
def repository(project: Project, tmp_path: Path) -> Repository:
    calls, scripts, hooks = tmp_path / "calls", tmp_path / "bin", tmp_path / "hooks"
    calls.touch()
    scripts.mkdir()
    script = f'#!/bin/sh\necho "$@" >> {calls}\nPYTHONPATH={ROOT} exec {sys.executable} -m flowx_cli "$@"\n'
    (scripts / "flowx").write_text(script)
    (scripts / "flowx").chmod(0o755)
    path = os.pathsep.join([str(scripts), str(Path(sys.executable).parent), os.environ["PATH"]])
    # Whatever a developer has configured, or a hook of this repository exports, is not this repository's.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    names = {f"GIT_{role}_{part}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    own = {"PATH": path, "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}
    made = Repository(project, {**kept, **names, **own}, calls)

    hooks.mkdir()
    (hooks / ".pre-commit-hooks.yaml").write_text((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Hooks"]):
        subprocess.run(["git", *command], cwd=hooks, env=made.environment, check=True)
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=hooks, env=made.environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    project.write(
        ".pre-commit-config.yaml",
        f"repos:\n  - repo: {hooks}\n    rev: {revision}\n    hooks: [{{id: flowx-build}}, {{id: flowx-diff}}]\n",
    )
    project.write(".gitignore", ".flowx_cache\n")
    project.flowx("build")
    made.run("git", "init", "-q", "-b", "main")
    made.run("pre-commit", "install")
    # What a clone has: the default branch of where it came from.
    made.run("git", "commit", "-q", "--allow-empty", "--no-verify", "-m", "Begin")
    made.run("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    made.run("git", "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    return made


@pytest.mark.slow  # git, pre-commit and flowx are processes
def test_c06_both_hooks_run_once_a_commit_over_the_whole_program(repository: Repository) -> None:
    project = repository.project
    assert "flowx diff" in repository.commit("The first manifest breaks nobody")
    assert repository.called == ["build --check", "diff --against origin/HEAD --allow-missing"]
    repository.run("git", "update-ref", "refs/remotes/origin/main", "HEAD")

    # An error in a file that the commit does not touch is found: the capability it breaks is in the one it does.
    project.edit(
        "shop.py",
        '@capability("job.status", version="1.0.0", authorization=Internal(), idempotent=True)',
        '@capability("job.status", version="1.0.0", authorization=Internal())',
    )
    project.write("notes.py", "# Another file of the same commit.\n")
    shown = repository.commit("Break the poll", succeeds=False)
    assert "error[FLOWX1044]" in shown
    assert "flows.py:" in shown
    assert [call for call in repository.called if call.startswith("build")] == ["build --check"]


@pytest.mark.slow  # git, pre-commit and flowx are processes
def test_a_commit_without_its_plans_or_that_breaks_a_caller_is_stopped(repository: Repository) -> None:
    project = repository.project
    repository.commit("The first manifest breaks nobody")
    repository.run("git", "update-ref", "refs/remotes/origin/main", "HEAD")

    project.edit("flows.py", '"order.place", version="1.0.0"', '"order.place", version="1.1.0"')
    shown = repository.commit("Forget to build", succeeds=False)
    assert "FLOWX1302" in shown
    project.flowx("build")
    repository.commit("Build")

    project.write("flows.py", FLOW.replace('"order.place", version="1.0.0"', '"order.submit", version="1.0.0"'))
    for plan in (project.root / "plans").glob("order_place_*.py"):
        plan.unlink()
    project.flowx("build")
    shown = repository.commit("Take a flow away", succeeds=False)
    assert "FLOWX-DIFF-001" in shown
    assert "order.place" in shown
