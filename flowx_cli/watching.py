"""Waits until a source file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

LOOK_EVERY_S = 0.3


def wait_for_change(
    folders: Iterable[Path], ignored: Sequence[Path], *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Return when a Python file or `pyproject.toml` below the folders is written, added or removed.

    Args:
        folders: where to look.
        ignored: the folders of generated plans: what a build writes must not start the next one.
        pause: how to wait between two looks.
    """
    watched = tuple(folders)
    before = _snapshot(watched, ignored)
    while _snapshot(watched, ignored) == before:
        pause(LOOK_EVERY_S)


def _snapshot(folders: tuple[Path, ...], ignored: Sequence[Path]) -> dict[str, tuple[int, int]]:
    found = {}
    for folder in folders:
        files = [folder] if folder.is_file() else [*folder.rglob("*.py"), *folder.glob("pyproject.toml")]
        for file in files:
            if not any(file.is_relative_to(folder) for folder in ignored):
                try:
                    status = file.stat()
                except FileNotFoundError:
                    continue
                found[str(file)] = (status.st_mtime_ns, status.st_size)
    return found
