"""Paths to source files: which files belong to the project, and what their modules are called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowx_compiler.errors import UsageProblem
from flowx_compiler.source_file import SourceFile

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages"})


def discover(paths: Iterable[Path], *, base: Path, roots: Iterable[Path] = ()) -> tuple[SourceFile, ...]:
    """Every Python file under the paths, and every other file of their import roots that they may import.

    A file's module name counts from its import root: one of `roots`, else the nearest folder above it that is a `src`
    folder or has a `pyproject.toml`, else the path itself. Symbolic links to folders are not followed.

    Args:
        paths: files and folders.
        base: what file names in the answer are relative to.
        roots: import roots that the configuration names.

    Raises:
        UsageProblem: a path does not exist or cannot be read, or two import roots give one file two names.
    """
    known_roots = tuple(root.resolve() for root in roots)
    found: dict[str, SourceFile] = {}
    origin: dict[str, Path] = {}
    for path in paths:
        start = path.resolve()
        if not start.exists():
            raise UsageProblem(f"there is no file or folder {str(path)!r}: name one that exists")
        for file in _python_files(start):
            root = _root_of(file, start if start.is_dir() else start.parent, known_roots)
            name, is_package = _module_name(file, root)
            if name in origin and origin[name] != file:
                raise UsageProblem(
                    f"{_relative(origin[name], base)} and {_relative(file, base)} are both module {name!r}: "
                    "check them apart, or give them one root in [tool.flowx] sources"
                )
            origin[name] = file
            found[name] = SourceFile(name, _relative(file, base), _read(file, base), is_package)
    return tuple(found[name] for name in sorted(found))


def import_roots(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that modules under the paths are imported from."""
    starts = [path.resolve() for path in paths]
    return tuple(dict.fromkeys(_root_of(start, start if start.is_dir() else start.parent, ()) for start in starts))


def _python_files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
        return
    folders = [start]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise UsageProblem(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED and not _is_environment(entry.path):
                    folders.append(Path(entry.path))
            elif entry.name.endswith(".py") and entry.is_file():
                yield Path(entry.path)


def _is_environment(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))  # noqa: PTH110, PTH118  # once per folder of a large tree


def _root_of(file: Path, start: Path, known: tuple[Path, ...]) -> Path:
    holding = [root for root in known if file.is_relative_to(root)]
    if holding:
        return max(holding, key=lambda root: len(root.parts))
    for folder in (file if file.is_dir() else file.parent, *file.parents):
        if folder.name == "src":
            return folder
        if (folder / "pyproject.toml").is_file():
            sources = folder / "src"
            return sources if file.is_relative_to(sources) else folder
    return start


def _module_name(file: Path, root: Path) -> tuple[str, bool]:
    parts = list(file.relative_to(root).with_suffix("").parts)
    is_package = parts[-1] == "__init__"
    if is_package:
        parts.pop()
    return ".".join(parts) or file.stem, is_package


def _relative(file: Path, base: Path) -> str:
    return Path(os.path.relpath(file, base.resolve())).as_posix()


def _read(file: Path, base: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageProblem(f"{_relative(file, base)} cannot be read: {error.strerror}") from error
