"""A manifest as a revision has it. Reads git's objects only: the work tree and the index are never touched."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from flowx_compiler.diff.errors import NoManifestYet, NotThere


@dataclass(frozen=True, slots=True)
class Baseline:
    """A manifest out of git."""

    text: bytes
    name: str
    """What a sentence about it calls it: `1a2b3c4d5e6f:flowx.manifest.json`."""


def read_baseline(manifest: Path, revision: str, *, is_exact: bool) -> Baseline:
    """The manifest as it was where this branch left another, or at a revision itself.

    Args:
        manifest: where the manifest is in the work tree; it need not be there.
        revision: a branch, tag, commit or expression such as `HEAD~1`.
        is_exact: compare with the revision itself. Otherwise with its merge base with HEAD: what others added to
            that branch meanwhile is not something this branch removed.

    Raises:
        NotThere: git, the revision, or the manifest at that revision cannot be found.
    """
    repository = _Repository(_existing(manifest.absolute().parent))
    commit = repository.commit(revision)
    if not is_exact:
        commit = repository.merge_base(commit, revision)
    path = repository.path_of(manifest)
    found = repository.git("cat-file", "blob", f"{commit}:{path}")
    if found.returncode:
        raise NoManifestYet(
            f"{revision} ({commit[:12]}) has no {path}: commit the manifest there, name another with --manifest, or"
            " say with --allow-missing that this one is the first"
        )
    return Baseline(found.stdout, f"{commit[:12]}:{path}")


def _existing(folder: Path) -> Path:
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


class _Repository:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        top = self.git("rev-parse", "--show-toplevel")
        if top.returncode:
            raise NotThere(_unreadable(folder, os.fsdecode(top.stderr)))
        self._top = Path(_line(top)).resolve()

    def git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        # Without optional locks git does not even refresh the index.
        environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            return subprocess.run(
                ["git", "-C", str(self._folder), *arguments], capture_output=True, check=False, env=environment
            )
        except FileNotFoundError:
            raise NotThere("git is not installed: name two files instead of --against") from None

    def commit(self, revision: str) -> str:
        found = self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if found.returncode:
            raise NotThere(self._unknown(revision))
        return _line(found)

    def merge_base(self, commit: str, revision: str) -> str:
        found = self.git("merge-base", commit, "HEAD")
        if not found.returncode:
            return _line(found)
        if self._is_shallow:
            raise NotThere(
                f"this clone is shallow and does not reach where {revision} and HEAD part:"
                " run `git fetch --unshallow` first"
            )
        raise NotThere(f"{revision} and HEAD share no history: compare with {revision} itself by adding --exact")

    def path_of(self, manifest: Path) -> str:
        resolved = manifest.absolute().parent.resolve() / manifest.name
        if not resolved.is_relative_to(self._top):
            raise NotThere(f"{manifest} is not inside the git repository {self._top}")
        return resolved.relative_to(self._top).as_posix()

    def _unknown(self, revision: str) -> str:
        if self._is_shallow:
            return (
                f"this clone is shallow and does not hold {revision}: run `git fetch --unshallow origin"
                f" '+refs/heads/*:refs/remotes/origin/*' --tags` first"
            )
        return f"git knows no revision {revision}: check the name, or run `git fetch` first"

    @property
    def _is_shallow(self) -> bool:
        return _line(self.git("rev-parse", "--is-shallow-repository")) == "true"


def distrusted(folder: Path) -> str:
    """What to do where git shows this user nothing of a repository."""
    return (
        f"git does not trust {folder}, which belongs to somebody else, as checkouts in containers do:"
        f" run `git config --global --add safe.directory {folder}` first"
    )


def _unreadable(folder: Path, said: str) -> str:
    if "safe.directory" in said:
        return distrusted(folder)
    if "not a git repository" in said or not said.strip():
        return f"{folder} is not in a git repository: name two files instead of --against"
    return f"git cannot read {folder} ({said.splitlines()[0].removeprefix('fatal: ')}): name two files instead"


def _line(result: subprocess.CompletedProcess[bytes]) -> str:
    return os.fsdecode(result.stdout).rstrip("\n")
