"""Colour, or none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """Paints the parts of a report; without colour every part is left as it is."""

    has_colour: bool = False

    def error(self, text: str) -> str:
        """What stops the build."""
        return self._paint("1;31", text)

    def warning(self, text: str) -> str:
        """What does not."""
        return self._paint("1;33", text)

    def note(self, text: str) -> str:
        """Lines, bars and other places."""
        return self._paint("34", text)

    def strong(self, text: str) -> str:
        """What to read first."""
        return self._paint("1", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colour and text else text
