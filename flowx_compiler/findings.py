"""Findings: what a rule has to say about a place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowx_compiler.syntax import Span


class Severity(Enum):
    """How bad a finding is. An error stops the build; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """A range in one file."""

    file: str
    """Path relative to the project root, with `/`."""
    span: Span


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a finding."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One report about one decision, at the narrowest text its author would edit."""

    id: str
    severity: Severity
    place: Place
    message: str
    """Names the symbol and shows the arithmetic, the path or what is available."""
    label: str = ""
    """A few words under the caret."""
    help: str = ""
    """One sentence that says what to write."""
    related: tuple[Related, ...] = ()

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Findings are always listed by file, position, id."""
        span = self.place.span
        return (self.place.file, span.line, span.column, self.id, self.message)
