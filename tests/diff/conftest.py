"""The command as it is called, and scratch repositories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowx_cli.__main__ import main
from tests.diff.sample import Document, sample

MANIFEST = "flowx.manifest.json"


@dataclass(frozen=True)
class Ran:
    """What a call of the command did."""

    code: int
    out: str
    err: str


Flowx = Callable[..., Ran]


@pytest.fixture
def flowx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Flowx:
    """Runs `flowx diff …` in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["diff", *arguments])
        captured = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """The interpreter's own limit: compiling in this process may have raised it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture
def documents(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Writes two manifests into the temporary folder."""

    def write(old: Document | str | bytes, new: Document | str | bytes) -> tuple[str, str]:
        for name, document in (("old.json", old), ("new.json", new)):
            text = json.dumps(document) if isinstance(document, dict) else document
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return "old.json", "new.json"

    return write


@dataclass(frozen=True)
class Repository:
    """A git repository that no configuration of the machine reaches."""

    root: Path

    def git(self, *arguments: str) -> str:
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(self.root)}
        who = {f"GIT_{role}_{part}": "x@y.z" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=outside | quiet | who, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write(self, document: Document, name: str = MANIFEST) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2), "utf-8")

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def state(self) -> tuple[str, str, bytes]:
        return (
            self.git("status", "--porcelain"),
            self.git("worktree", "list"),
            (self.root / ".git" / "index").read_bytes(),
        )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """With the sample committed on `main`."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    made = Repository(tmp_path)
    made.git("init", "--quiet", "--initial-branch=main")
    made.write(sample())
    made.commit("first")
    return made
