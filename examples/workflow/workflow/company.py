"""An in-memory stand-in for the systems of a company's departments."""

from __future__ import annotations

from collections import Counter

from workflow.contracts import DepartmentClosed


class Company:
    """Keeps what stands, and every effect in order; any effect can be made to fail."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.standing: Counter[str] = Counter()
        self.closed: set[str] = set()
        """Effects that fail."""

    def do(self, effect: str, subject: str) -> str:
        """Have an effect that stands until it is taken back."""
        if effect in self.closed:
            raise DepartmentClosed(f"{effect} is closed")
        self.effects.append(f"{effect} ({subject})")
        self.standing[f"{effect}:{subject}"] += 1
        return f"{effect}-{subject}"

    def undo(self, undo: str, effect: str, subject: str) -> None:
        """Take an effect back; taking it back twice is harmless."""
        if undo in self.closed:
            raise DepartmentClosed(f"{undo} is closed")
        self.effects.append(f"{undo} ({subject})")
        del self.standing[f"{effect}:{subject}"]
