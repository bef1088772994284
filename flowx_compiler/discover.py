"""Paths to source files: which files belong to the project, and what their modules are called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowx_compiler.errors import UsageProblem
from flowx_compiler.read.imports import find_imports
from flowx_compiler.source_file import SourceFile

_MARK = b"flowx"
_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages"})


def discover(paths: Iterable[Path], *, base: Path, roots: Iterable[Path] = ()) -> tuple[SourceFile, ...]:
    """Every Python file under the paths, and the other files of their import roots that flow modules among them import.

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
    home = base.resolve()
    found: dict[str, SourceFile] = {}
    partial: dict[str, Path] = {}
    origin: dict[str, str] = {}
    for path in paths:
        start = path.resolve()
        if not start.exists():
            raise UsageProblem(f"there is no file or folder {str(path)!r}: name one that exists")
        if start.is_file() and start.suffix != ".py":
            raise UsageProblem(f"{str(path)!r} is not a Python file: name one, or a folder")
        fallback = start if start.is_dir() else start.parent
        for folder, names in _python_files(start):
            # Everything that is the same for the files of a folder is found out once: projects have thousands.
            root = _root_of(folder, fallback, known_roots)
            package = _package(folder, root)
            is_partial = start.is_file() or not root.is_relative_to(start)
            relative = Path(os.path.relpath(folder, home)).as_posix()
            for name in names:
                file = f"{folder}/{name}"
                shown = name if relative == "." else f"{relative}/{name}"
                module = _module_name(package, name)
                if origin.get(module, file) != file:
                    first, second = sorted((_relative(origin[module], home), shown))
                    raise UsageProblem(
                        f"{first} and {second} are both module {module!r}: "
                        "check them apart, or give them one root in [tool.flowx] sources"
                    )
                origin[module] = file
                found[module] = SourceFile(module, shown, _read(file, shown), name == "__init__.py")
                if is_partial and _MARK in found[module].source:
                    partial[module] = root
    _add_imported(found, partial, home)
    return tuple(found[name] for name in sorted(found))


def _add_imported(found: dict[str, SourceFile], partial: dict[str, Path], home: Path) -> None:
    """Add what modules import from their import roots where the paths cover only a part of those."""
    waiting = [(found[module], root) for module, root in sorted(partial.items())]
    asked = set(partial)
    while waiting:
        file, root = waiting.pop()
        for name in sorted(_imported(file) - asked):
            asked.add(name)
            other = found.get(name) or _source_of(name, root, home)
            if other is not None:
                found[name] = other
                waiting.append((other, root))


def _imported(file: SourceFile) -> set[str]:
    """The names of modules that a file may import, with the packages that hold them."""
    names: set[str] = set()
    for taken in find_imports(file):
        parts = taken.source.split(".")
        names.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
        if taken.name not in (None, "*"):
            names.add(f"{taken.source}.{taken.name}")
    return names


def _source_of(module: str, root: Path, home: Path) -> SourceFile | None:
    place = root.joinpath(*module.split("."))
    for file, is_package in ((place.with_name(f"{place.name}.py"), False), (place / "__init__.py", True)):
        if place != root and file.is_file():
            shown = _relative(str(file), home)
            return SourceFile(module, shown, _read(str(file), shown), is_package)
    return None


def _python_files(start: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders with the names of the Python files in them."""
    if start.is_file():
        yield start.parent, [start.name]
        return
    folders = [str(start)]
    while folders:
        folder = folders.pop()
        names: list[str] = []
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            raise UsageProblem(f"the folder {folder!r} cannot be read: {error.strerror}") from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED and not _is_environment(entry.path):
                    folders.append(entry.path)
            elif entry.name.endswith(".py") and _is_file(entry):
                names.append(entry.name)
        if names:
            yield Path(folder), names


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _is_environment(folder: str) -> bool:
    return os.path.exists(f"{folder}/pyvenv.cfg")  # noqa: PTH110  # once per folder of a large tree


def _root_of(folder: Path, fallback: Path, known: tuple[Path, ...]) -> Path:
    holding = [root for root in known if folder.is_relative_to(root)]
    if holding:
        return max(holding, key=lambda root: len(root.parts))
    for above in (folder, *folder.parents):
        if above.name == "src":
            return above
        if (above / "pyproject.toml").is_file():
            sources = above / "src"
            return sources if folder.is_relative_to(sources) else above
    return fallback


def _package(folder: Path, root: Path) -> str:
    return ".".join(folder.relative_to(root).parts)


def _module_name(package: str, name: str) -> str:
    stem = name.removesuffix(".py")
    if stem == "__init__":
        return package or stem
    return f"{package}.{stem}" if package else stem


def _relative(file: str, base: Path) -> str:
    return Path(os.path.relpath(file, base)).as_posix()


def _read(file: str, shown: str) -> bytes:
    try:
        with open(file, "rb", buffering=0) as source:  # noqa: PTH123  # every file of the project on every run
            return source.read()
    except OSError as error:
        raise UsageProblem(f"{shown} cannot be read: {error.strerror}") from error
