"""Modules on demand: linking reads a file when a name leads there, and not before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flowx_compiler.read import read_module
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


@dataclass(slots=True)
class Sources:
    """The project's files by module name, and what has been read of them."""

    files: Mapping[str, SourceFile]
    read: dict[str, Module] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Iterable[SourceFile]) -> Sources:
        """Index files by module name."""
        return cls({file.module: file for file in files})

    def module(self, name: str) -> Module | None:
        """The module of that name; `None` where the project has none."""
        if name not in self.read:
            file = self.files.get(name)
            if file is None:
                return None
            self.read[name] = read_module(file.module, file.file, file.source, is_package=file.is_package)
        return self.read[name]

    def is_package(self, name: str) -> bool:
        """Whether the project has modules below this name, with or without an `__init__.py`."""
        return any(module.startswith(f"{name}.") for module in self.files)
