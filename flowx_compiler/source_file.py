"""One file of the project, not read yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A Python file by the name that other modules import it under."""

    module: str
    """Dotted module name."""
    file: str
    """Path relative to the project root, with `/`."""
    source: bytes
    is_package: bool = False
