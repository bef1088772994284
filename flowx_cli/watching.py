"""Waits until a source file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LOOK_EVERY_S = 0.3


Snapshot = Mapping[str, tuple[int, int]]
"""When each file was written, and how long it is."""


def wait_for_change(
    before: Snapshot,
    folders: Sequence[Path],
    ignored: Sequence[Path],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Return when a Python file or `pyproject.toml` below the folders is written, added or removed.

    Args:
        before: how the files were when the build that has ended began. Taken any later, it would miss what was
            written while that build ran.
        folders: where to look.
        ignored: the folders of generated plans: what a build writes must not start the next one.
        pause: how to wait between two looks.
    """
    while snapshot(folders, ignored) == before:
        pause(LOOK_EVERY_S)


def snapshot(folders: Sequence[Path], ignored: Sequence[Path]) -> Snapshot:
    """How the files below the folders are now."""
    found = {}
    for folder in folders:
        files = [folder] if folder.is_file() else [*folder.rglob("*.py"), *folder.glob("pyproject.toml")]
        for file in files:
            if not any(file.is_relative_to(other) for other in ignored):
                try:
                    status = file.stat()
                except FileNotFoundError:
                    continue
                found[str(file)] = (status.st_mtime_ns, status.st_size)
    return found
