"""How linking gets at files: a protocol, and the reader that remembers nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from flowx_compiler.read.imports import Taken, find_imports
from flowx_compiler.source_file import SourceFile
from flowx_compiler.syntax import Module


class Reader(Protocol):
    """Reads files, from them or from what it remembers of them."""

    def read(self, files: Sequence[SourceFile]) -> Sequence[Module]:
        """The modules of files, in the same order."""
        ...

    def imports(self, file: SourceFile) -> Iterable[Taken]:
        """What a file imports, and perhaps a little that only looks like an import."""
        ...


class FileReader:
    """Reads every file anew."""

    def read(self, files: Sequence[SourceFile]) -> Sequence[Module]:
        """Read files with LibCST, which is imported only when there is something to read: that takes longest."""
        from flowx_compiler.read.workers import read_files

        return read_files(files)

    def imports(self, file: SourceFile) -> Iterable[Taken]:
        """Look for imports in a file's bytes."""
        return find_imports(file)
