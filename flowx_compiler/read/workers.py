"""Reads many files: in this process when they are few, in several when they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowx_compiler.read.module import read_module

if TYPE_CHECKING:
    from flowx_compiler.link.sources import SourceFile
    from flowx_compiler.syntax import Module


def read_files(files: Sequence[SourceFile]) -> list[Module]:
    """Read files; gives their modules in the same order."""
    return [read_module(file.module, file.file, file.source, is_package=file.is_package) for file in files]
