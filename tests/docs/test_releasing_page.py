"""The page on releases: its example is played in a scratch repository, and its CI files are run line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.diff.conftest import Repository
from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/releasing.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"] or ""): match["text"] for match in BLOCK.finditer(PAGE)}
FILES = ("pyproject.toml", "shop/flows.py")
SECOND_MAJOR = """

@flow("order.pay", version="2.0.0", profile=Profile.DURABLE, deadline="P7D")
@http_trigger("POST", "/v2/orders", idempotent=True)
class PayOrderAtOnce(Flow[Order, Payment]):
    def define(self, flow: FlowBuilder[Order, Payment]) -> None:
        flow.step(take_payment)
        flow.returns(lambda ctx: ctx.get(Payment))
"""


@dataclass(frozen=True)
class Shop:
    """The example's repository, with `flowx` on the path."""

    repository: Repository
    shims: Path

    def run(self, line: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        path = f"{self.shims}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "NO_COLOR": "1", "GITHUB_STEP_SUMMARY": "summary.md"}
        where = self.repository.root if cwd is None else cwd
        return subprocess.run(
            ["bash", "-e", "-c", line], cwd=where, env=environment, capture_output=True, text=True, check=False
        )

    def apply(self, name: str) -> None:
        done = subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"],
            cwd=self.repository.root,
            input=BLOCKS["edit", name] + "\n",
            text=True,
            check=False,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr

    def clone(self, name: str, *options: str) -> Path:
        where = self.shims.parent / name
        self.repository.git("clone", "--quiet", *options, f"file://{self.repository.root}", str(where))
        return where


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Built and committed on `main`, with the example's branch checked out."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    shims = tmp_path / "bin"
    shims.mkdir()
    shim = shims / "flowx"
    shim.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m flowx_cli "$@"\n', "utf-8")
    shim.chmod(0o755)
    made = Shop(Repository(tmp_path / "shop"), shims)
    for name in FILES:
        path = made.repository.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BLOCKS["file", name] + "\n", "utf-8")
    (made.repository.root / ".gitignore").write_text(".flowx_cache/\n", "utf-8")
    made.repository.git("init", "--quiet", "--initial-branch=main")
    assert made.run("flowx build").returncode == 0
    made.repository.commit("first")
    made.repository.git("switch", "--quiet", "--create", "currency")
    return made


def steps(name: str) -> list[str]:
    """The lines of a CI file that call flowx."""
    return re.findall(r"^\s*(?:- run: |- )?(flowx .+)$", BLOCKS["file", name], re.MULTILINE)


def test_every_block_is_marked() -> None:
    assert PAGE.count("```") == 2 * len(BLOCKS)


@pytest.mark.slow  # builds, commits and compares as the page does, each in a process of its own
def test_the_example_goes_as_shown(shop: Shop) -> None:
    shop.apply("break")
    refused = shop.run("flowx build")
    assert (refused.returncode, refused.stdout.strip()) == (1, BLOCKS["output of", "flowx build"])
    shop.apply("move")
    assert shop.run("flowx build").returncode == 0
    broken = shop.run("flowx diff --against main")
    assert (broken.returncode, broken.stdout.strip()) == (1, BLOCKS["output of", "flowx diff --against main, broken"])
    shop.repository.commit("broken")
    _ci_says(shop, "broken", verdict=1)
    shop.repository.git("reset", "--quiet", "--soft", "main")  # nothing of it was released
    shop.apply("mend")
    assert shop.run("flowx build").returncode == 0
    mended = shop.run("flowx diff --against main")
    assert (mended.returncode, mended.stdout.strip()) == (0, BLOCKS["output of", "flowx diff --against main, mended"])
    shop.repository.commit("mended")
    _ci_says(shop, "mended", verdict=0)


def _ci_says(shop: Shop, name: str, *, verdict: int) -> None:
    clone = shop.clone(name)
    for file in (".github/workflows/contract.yml", ".gitlab-ci.yml"):
        for line in steps(file):
            ran = shop.run(line, clone)
            is_judged = line.startswith("flowx diff") and not line.endswith("|| true")
            assert ran.returncode == (verdict if is_judged else 0), (line, ran.stdout, ran.stderr)
    word = "**INCOMPATIBLE**" if verdict else "compatible"
    for report in ("summary.md", "contract.md"):
        assert f"### Contract of shop: {word}\n" in (clone / report).read_text("utf-8")


def test_the_ci_files_make_both_checks() -> None:
    for file in (".github/workflows/contract.yml", ".gitlab-ci.yml"):
        assert [line.split()[1] for line in steps(file)][:2] == ["build", "diff"]
        assert all("--check" in line for line in steps(file) if line.startswith("flowx build"))
    assert "fetch-depth: 0" in BLOCKS["file", ".github/workflows/contract.yml"]
    assert 'GIT_DEPTH: "0"' in BLOCKS["file", ".gitlab-ci.yml"]


def test_the_hooks_of_the_page_are_those_that_are_published() -> None:
    shown = [line.strip() for line in BLOCKS["file", ".pre-commit-config.yaml"].splitlines()]
    published = [line.strip() for line in (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").splitlines()]
    said = [line for line in published if not line.startswith(("#", "description:"))]
    assert shown == ["repos:", "- repo: local", "hooks:", *said]


@pytest.mark.slow  # builds in a process of its own
def test_a_second_major_beside_the_first_is_an_addition(shop: Shop) -> None:
    with (shop.repository.root / "shop/flows.py").open("a", encoding="utf-8") as file:
        file.write(SECOND_MAJOR)
    built = shop.run("flowx build")
    assert built.returncode == 0, built.stdout
    ran = shop.run("flowx diff --against main")
    assert ran.returncode == 0
    assert re.findall(r"FLOWX-DIFF-\d+ .+", ran.stdout) == ["FLOWX-DIFF-100 flow order.pay@2"]


@pytest.mark.slow  # starts processes
def test_the_exit_codes_are_those_of_the_table(shop: Shop) -> None:
    rows = {
        int(number): (build.strip(), diff.strip())
        for number, build, diff in re.findall(r"^\| (\d) \|([^|]*)\|([^|]*)\|$", PAGE, re.MULTILINE)
    }
    assert set(rows) == {0, 1, 2, 3}
    manifest = shop.repository.root / "flowx.manifest.json"
    empty = '{"schemaVersion": "1.0.0", "flows": [], "capabilities": []}'
    (shop.repository.root / "empty.json").write_text(empty, "utf-8")
    for line, code in {
        "flowx build --check": 0,
        "flowx build --check nowhere": 2,
        "flowx diff flowx.manifest.json flowx.manifest.json": 0,
        "flowx diff flowx.manifest.json empty.json": 1,
        "flowx diff flowx.manifest.json pyproject.toml": 2,
        "flowx diff flowx.manifest.json": 2,
        "flowx diff flowx.manifest.json nowhere.json": 3,
        "flowx diff --against nowhere": 3,
    }.items():
        ran = shop.run(line)
        assert ran.returncode == code, (line, ran.stderr)
        assert rows[code][line.startswith("flowx diff")]
    manifest.unlink()
    assert shop.run("flowx build --check").returncode == 1


@pytest.mark.slow  # clones
def test_a_shallow_clone_is_told_what_is_shown(shop: Shop) -> None:
    shop.repository.commit("another")
    clone = shop.clone("shallow", "--depth=1", "--branch=currency")
    ran = shop.run("flowx diff --against origin/main", clone)
    shown = BLOCKS["output of", "flowx diff --against origin/main, in a shallow clone"]
    assert (ran.returncode, ran.stderr.strip()) == (3, shown)
