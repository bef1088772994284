"""Modules on demand: linking reads a file when a name leads there, and not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from flowx_compiler.syntax import Module


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the project, not read yet."""

    module: str
    """Dotted module name."""
    file: str
    """Path relative to the project root, with `/`."""
    source: bytes
    is_package: bool = False


Reader: TypeAlias = Callable[[Sequence[SourceFile]], Sequence[Module]]
"""Reads files; gives their modules in the same order."""


def read_now(files: Sequence[SourceFile]) -> Sequence[Module]:
    """Read files without a cache. LibCST is imported here, when something must be read, because that takes longest."""
    from flowx_compiler.read.workers import read_files

    return read_files(files)


@dataclass(slots=True)
class Sources:
    """The project's files by module name, and what has been read of them."""

    files: Mapping[str, SourceFile]
    reader: Reader = read_now
    read: dict[str, Module] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    """Every name that has modules below it, with or without an `__init__.py`."""

    @classmethod
    def of(cls, files: Iterable[SourceFile], reader: Reader = read_now) -> Sources:
        """Index files by module name."""
        by_module = {file.module: file for file in files}
        packages = frozenset(above for module in by_module for above in _above(module))
        return cls(by_module, reader, packages=packages)

    def read_all(self, names: Iterable[str]) -> None:
        """Read many modules at once, which is what makes reading them in parallel possible."""
        wanted = [self.files[name] for name in names if name in self.files and name not in self.read]
        if wanted:
            self.read.update((module.name, module) for module in self.reader(wanted))

    def module(self, name: str) -> Module | None:
        """The module of that name; `None` where the project has none."""
        if name not in self.read:
            if name not in self.files:
                return None
            self.read_all((name,))
        return self.read[name]

    def is_package(self, name: str) -> bool:
        """Whether the project has modules below this name."""
        return name in self.packages


def _above(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
