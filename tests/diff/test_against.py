"""`flowx diff --against`: what a revision's manifest is compared with, and what git is left alone."""

from __future__ import annotations

import json
import os
import shlex
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


@pytest.mark.parametrize("branches", ["all of them", "one"])
def test_f09_the_command_that_a_shallow_clone_is_told_helps(
    flowx: Flowx, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branches: str
) -> None:
    repository.git("switch", "--quiet", "--create", "mine")
    repository.write(with_flow("order.mine"))
    repository.commit("mine")
    repository.git("switch", "--quiet", "main")
    repository.commit("theirs")
    clone = Repository(tmp_path / "clone")
    scope = ["--no-single-branch"] if branches == "all of them" else ["--single-branch"]
    repository.git("clone", "-q", "--depth=1", "--branch=mine", *scope, f"file://{repository.root}", str(clone.root))
    monkeypatch.chdir(clone.root)
    refused = flowx("--against", "origin/main", "--format", "json")
    assert refused.code == 3
    _, command, _ = refused.err.split("`")
    clone.git(*shlex.split(command)[1:])
    helped = flowx("--against", "origin/main", "--format", "json")
    assert (helped.code, codes(helped.out)) == (0, ["100"])


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


def test_a_manifest_that_git_does_not_know_yet(flowx: Flowx, repository: Repository) -> None:
    repository.write(sample(), "new.json")
    ran = flowx("--against", "main", "--manifest", "new.json")
    assert ran.code == 3
    assert "has no new.json: commit the manifest there" in ran.err


def test_a_manifest_outside_of_the_repository(flowx: Flowx, repository: Repository, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "flowx.manifest.json").write_text(json.dumps(sample()), "utf-8")
    ran = flowx("--against", "main", "--manifest", str(outside / "flowx.manifest.json"))
    assert ran.code == 3
    assert "is not in a git repository" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("annotated", [False, True])
def test_a_tag_is_compared_with_where_this_branch_left_it(
    flowx: Flowx, repository: Repository, *, annotated: bool
) -> None:
    repository.git("switch", "--quiet", "--create", "release")
    repository.write(with_flow("order.theirs"))
    repository.commit("theirs")
    repository.git("tag", *(["--annotate", "--message", "one"] if annotated else []), "v1")
    repository.git("switch", "--quiet", "main")
    repository.write(with_flow("order.mine"))
    ran = flowx("--against", "v1", "--format", "json")
    assert (ran.code, codes(ran.out)) == (0, ["100"])
    exact = flowx("--against", "v1", "--exact", "--format", "json")
    assert (exact.code, codes(exact.out)) == (1, ["001", "100"])


def test_a_tag_and_a_branch_of_one_name_or_a_file_named_like_a_branch(flowx: Flowx, repository: Repository) -> None:
    repository.write(sample(), "main")
    repository.commit("a file called main")
    repository.write(with_flow("order.mine"))
    assert codes(flowx("--against", "main", "--format", "json").out) == ["100"]


@pytest.mark.parametrize("spelling", ["relative", "absolute", "up", "link"])
def test_a_manifest_elsewhere_than_here(
    flowx: Flowx, repository: Repository, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    root = repository.root
    repository.write(sample(), "apps/shop/flowx.manifest.json")
    repository.write(with_flow("order.other"), "apps/bank/flowx.manifest.json")
    (root / "linked").symlink_to("apps/shop")
    repository.commit("apps")
    repository.write(with_flow("order.mine"), "apps/shop/flowx.manifest.json")
    monkeypatch.chdir(root / "apps" / "bank")
    named = {
        "relative": "../shop/flowx.manifest.json",
        "absolute": str(root / "apps" / "shop" / "flowx.manifest.json"),
        "up": "../../apps/./shop/../shop/flowx.manifest.json",
        "link": "../../linked/flowx.manifest.json",
    }[spelling]
    before = repository.state()
    assert codes(flowx("--against", "main", "--manifest", named, "--format", "json").out) == ["100"]
    assert repository.state() == before


def test_each_application_of_a_monorepo_is_compared_with_its_own_manifest(flowx: Flowx, repository: Repository) -> None:
    table = '[[tool.flowx.application]]\nname = "{0}"\nsources = ["{0}"]\nplans = "{0}.plans"\nmanifest = "{0}.json"\n'
    (repository.root / "pyproject.toml").write_text(table.format("a") + table.format("b"), "utf-8")
    repository.write(sample(), "a.json")
    repository.write(with_flow("order.b"), "b.json")
    repository.commit("two")
    repository.write(with_flow("order.mine"), "a.json")
    repository.write(sample(), "b.json")
    for name, expected in (("a.json", (0, ["100"])), ("b.json", (1, ["001"]))):
        ran = flowx("--against", "main", "--manifest", name, "--format", "json")
        assert (ran.code, codes(ran.out)) == expected


def test_a_linked_work_tree_is_compared_with_its_own_head(
    flowx: Flowx, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path.parent / f"{tmp_path.name}-linked"
    repository.git("worktree", "add", "--quiet", "-b", "mine", str(other))
    (other / "flowx.manifest.json").write_text(json.dumps(with_flow("order.mine")), "utf-8")
    monkeypatch.chdir(other)
    assert codes(flowx("--against", "main", "--format", "json").out) == ["100"]
    assert flowx("--against", "main", "--format", "json").code == 0


def test_a_repository_without_a_commit(flowx: Flowx, tmp_path: Path, repository: Repository) -> None:
    fresh = Repository(tmp_path / "fresh")
    fresh.root.mkdir()
    fresh.git("init", "--quiet", "--initial-branch=main")
    fresh.write(sample())
    os.chdir(fresh.root)
    ran = flowx("--against", "main")
    assert ran.code == 3
    assert ran.err.startswith("flowx: git knows no revision main")


def test_only_objects_are_read(flowx: Flowx, repository: Repository, tmp_path: Path) -> None:
    """What is staged or lies in the work tree of the other branch says nothing; hooks and filters do not run."""
    repository.git("config", "core.hooksPath", "hooks")
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = repository.root / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f'#!/bin/sh\n: > "{tmp_path}/ran-{name}"\n', "utf-8")
        hook.chmod(0o755)
    (repository.root / ".gitattributes").write_text("*.json filter=loud\n", "utf-8")
    repository.git("config", "filter.loud.smudge", f'touch "{tmp_path}/ran-smudge" && cat')
    repository.write(with_flow("order.staged"))
    repository.git("add", "flowx.manifest.json")
    repository.write(with_flow("order.mine"))
    index = (repository.root / ".git" / "index").read_bytes()
    for ran in tmp_path.glob("ran-*"):
        ran.unlink()
    assert codes(flowx("--against", "main", "--format", "json").out) == ["100"]
    assert list(tmp_path.glob("ran-*")) == []
    assert (repository.root / ".git" / "index").read_bytes() == index


def test_a_repository_that_git_refuses_to_read_says_so_in_git_s_words(
    flowx: Flowx, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container the checkout often belongs to somebody else."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    ran = flowx("--against", "main")
    assert ran.code == 3
    assert "safe.directory" in ran.err
    assert "not in a git repository" not in ran.err
    assert ran.err.count("\n") == 1
