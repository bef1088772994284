"""Modules on demand: linking reads a file when a name leads there, and not before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flowx_compiler.read.file_reader import FileReader, Reader
from flowx_compiler.source_file import SourceFile
from flowx_compiler.syntax import Module

__all__ = ["SourceFile", "Sources"]


@dataclass(slots=True)
class Sources:
    """The project's files by module name, and what has been read of them."""

    files: Mapping[str, SourceFile]
    reader: Reader = field(default_factory=FileReader)
    read: dict[str, Module] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    """Every name that has modules below it, with or without an `__init__.py`."""

    @classmethod
    def of(cls, files: Iterable[SourceFile], reader: Reader | None = None) -> Sources:
        """Index files by module name."""
        by_module = {file.module: file for file in files}
        packages = frozenset(above for module in by_module for above in _above(module))
        return cls(by_module, reader or FileReader(), packages=packages)

    def read_all(self, names: Iterable[str]) -> None:
        """Read many modules at once, which is what makes reading them in parallel possible."""
        wanted = [self.files[name] for name in names if name in self.files and name not in self.read]
        if wanted:
            self.read.update((module.name, module) for module in self.reader.read(wanted))

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
