"""`flowx diff --against`: what a revision's manifest is compared with, and what git is left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.diff.conftest import Flowx, Repository
from tests.diff.sample import Document, flow, sample

ROOT = Path(__file__).parents[2]


def with_flow(*ids: str) -> Document:
    document = sample()
    document["flows"] += [{**flow(document, 1), "id": id} for id in ids]
    return document


def codes(text: str) -> list[str]:
    return [finding["code"][-3:] for finding in json.loads(text)["findings"]]


def test_f08_what_others_added_meanwhile_is_not_what_this_branch_removed(flowx: Flowx, repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "mine")
    repository.write(with_flow("order.mine"))
    repository.commit("mine")
    repository.git("switch", "--quiet", "main")
    repository.write(with_flow("order.theirs"))
    repository.commit("theirs")
    for branch, other in (("mine", "main"), ("main", "mine")):
        repository.git("switch", "--quiet", branch)
        ran = flowx("--against", other, "--format", "json")
        assert (ran.code, codes(ran.out)) == (0, ["100"])
    exact = flowx("--against", "mine", "--exact", "--format", "json")
    assert (exact.code, codes(exact.out)) == (1, ["001", "100"])


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("spelling", ["main", "origin/main", "v1", "sha", "short", "HEAD~1", "HEAD"])
def test_f09_every_way_to_name_a_revision(
    flowx: Flowx, repository: Repository, spelling: str, *, detached: bool
) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "--annotate", "--message", "one", "v1")
    repository.git("update-ref", "refs/remotes/origin/main", first)
    repository.git("switch", "--quiet", "--create", "mine")
    repository.write(with_flow("order.mine"))
    repository.commit("mine")
    if detached:
        repository.git("checkout", "--quiet", "--detach")
    revision = {"sha": first, "short": first[:10]}.get(spelling, spelling)
    ran = flowx("--against", revision, "--format", "json")
    assert ran.code == 0
    assert codes(ran.out) == ([] if spelling == "HEAD" else ["100"])


def test_f09_a_shallow_clone_says_what_to_fetch(
    flowx: Flowx, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("branch", "old")
    repository.git("switch", "--quiet", "--create", "mine")
    repository.write(with_flow("order.mine"))
    repository.commit("mine")
    repository.git("switch", "--quiet", "main")
    repository.commit("theirs")
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{repository.root}", str(clone))
    monkeypatch.chdir(clone)
    parted = flowx("--against", "origin/mine")
    assert parted.code == 3
    assert "`git fetch --unshallow`" in parted.err
    unknown = flowx("--against", "HEAD~1")
    assert unknown.code == 3
    assert "git fetch --unshallow origin" in unknown.err
    assert unknown.err.count("\n") == 1


def test_f10_the_work_tree_is_left_alone(flowx: Flowx, repository: Repository) -> None:
    repository.write(with_flow("order.mine"))
    repository.write(sample(), "untracked.json")
    before = repository.state()
    assert flowx("--against", "main").code == 0
    assert repository.state() == before
    assert "M flowx.manifest.json" in before[0]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_f10_also_when_it_is_interrupted(repository: Repository, tmp_path: Path) -> None:
    fakes = tmp_path.parent / f"{tmp_path.name}-bin"
    fakes.mkdir()
    started = fakes / "started"
    slow = fakes / "git"
    slow.write_text(f'#!/bin/sh\n: > "{started}"\nexec tail -f /dev/null\n', "utf-8")
    slow.chmod(0o755)
    before = repository.state()
    process = subprocess.Popen(
        [sys.executable, "-m", "flowx_cli", "diff", "--against", "main"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{fakes}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not started.exists() and time.monotonic() < deadline:
        os.sched_yield()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert repository.state() == before


def test_a_revision_without_a_manifest(flowx: Flowx, repository: Repository) -> None:
    repository.git("rm", "--quiet", "--cached", "flowx.manifest.json")
    bare = repository.git("commit-tree", "-m", "bare", repository.git("write-tree"))
    ran = flowx("--against", bare, "--exact")
    assert ran.code == 3
    assert f"({bare[:12]}) has no flowx.manifest.json" in ran.err


@pytest.mark.parametrize("revision", ["nowhere", "--help", "-x", "main:README", "a b", ""])
def test_a_revision_that_does_not_exist(flowx: Flowx, repository: Repository, revision: str) -> None:
    before = repository.state()
    ran = flowx(f"--against={revision}")
    assert ran.code == 3
    assert ran.err.startswith("flowx: git knows no revision")
    assert repository.state() == before


def test_histories_that_never_met(flowx: Flowx, repository: Repository) -> None:
    repository.git("switch", "--quiet", "--orphan", "alone")
    repository.write(sample())
    repository.commit("alone")
    ran = flowx("--against", "main")
    assert ran.code == 3
    assert "--exact" in ran.err
    assert flowx("--against", "main", "--exact").code == 0


def test_outside_of_git(flowx: Flowx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    ran = flowx("--against", "main")
    assert ran.code == 3
    assert "is not in a git repository" in ran.err


def test_a_manifest_that_is_not_built_yet(flowx: Flowx, repository: Repository) -> None:
    (repository.root / "flowx.manifest.json").unlink()
    ran = flowx("--against", "main")
    assert ran.code == 3
    assert "run `flowx build`" in ran.err


def test_the_manifest_that_the_configuration_names(flowx: Flowx, repository: Repository) -> None:
    folder = repository.root / "apps" / "shop"
    repository.write(sample(), "apps/shop/contract.json")
    (folder / "pyproject.toml").write_text(
        '[tool.flowx]\nsources = ["."]\nplans = "plans"\nmanifest = "contract.json"\n', "utf-8"
    )
    repository.commit("shop")
    repository.write(with_flow("order.mine"), "apps/shop/contract.json")
    os.chdir(folder)
    ran = flowx("--against", "main", "--format", "json")
    assert (ran.code, codes(ran.out)) == (0, ["100"])


def test_a_named_manifest_below_the_folder(flowx: Flowx, repository: Repository) -> None:
    repository.write(sample(), "apps/x.json")
    repository.commit("x")
    repository.write(with_flow("order.mine"), "apps/x.json")
    assert codes(flowx("--against", "main", "--manifest", "apps/x.json", "--format", "json").out) == ["100"]


def test_one_of_several_manifests_has_to_be_named(flowx: Flowx, repository: Repository) -> None:
    table = '[[tool.flowx.application]]\nname = "{0}"\nsources = ["."]\nplans = "{0}.plans"\nmanifest = "{0}.json"\n'
    (repository.root / "pyproject.toml").write_text(table.format("a") + table.format("b"), "utf-8")
    ran = flowx("--against", "main")
    assert ran.code == 2
    assert "a.json, b.json" in ran.err
