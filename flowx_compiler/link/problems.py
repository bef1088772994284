"""Collects what linking cannot accept."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowx_compiler.findings import Place
from flowx_compiler.model import Problem


@dataclass(slots=True)
class Problems:
    """A list that only grows."""

    found: list[Problem] = field(default_factory=list)
    _seen: set[Problem] = field(default_factory=set)

    def add(self, id: str, place: Place, message: str, help: str, *, label: str = "") -> None:
        """Note one problem; the same one at the same place is noted once (a block may be read for two flows)."""
        problem = Problem(id, place, message, help, label)
        if problem not in self._seen:
            self._seen.add(problem)
            self.found.append(problem)
