"""How wide text is, without the font at hand: never less than in the widest of the usual sans-serif fonts."""

from __future__ import annotations

from typing import Final

_WIDTHS: Final = {
    "ijl'": 0.31,
    ".,:;| ": 0.36,
    'ftrI()[]/\\"-!': 0.47,
    "ksvxyzcJ?_*": 0.60,
    "aedbghnopqu0123456789L${}": 0.65,
    "ABEFKPSTVXYZR": 0.71,
    "CDGHNOQUw+=<>~^&→#": 0.85,
    "mMWw@%…": 1.0,
}
_BY_LETTER: Final = {letter: width for letters, width in reversed(_WIDTHS.items()) for letter in letters}
_OTHER: Final = 1.0
_BOLD: Final = 1.12


def width_of(text: str, size: float, *, is_bold: bool = False) -> float:
    """The width of a line, in the unit of `size`."""
    width = sum(_BY_LETTER.get(letter, _OTHER) for letter in text) * size
    return width * _BOLD if is_bold else width


def lines_of(text: str, size: float, *, is_bold: bool = False, limit: float, most: int = 3) -> tuple[str, ...]:
    """A text in lines no wider than a limit; what does not fit into so many lines is left out, with an ellipsis."""
    lines: list[str] = []
    rest = text.strip()
    while rest and len(lines) < most:
        line = _first_line(rest, size, limit, is_bold=is_bold)
        lines.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    if rest:
        last = lines[-1]
        while last and width_of(f"{last}…", size, is_bold=is_bold) > limit:
            last = last[:-1]
        lines[-1] = f"{last}…"
    return tuple(lines)


def _first_line(text: str, size: float, limit: float, *, is_bold: bool) -> str:
    fits = len(text)
    while fits > 1 and width_of(text[:fits], size, is_bold=is_bold) > limit:
        fits -= 1
    if fits == len(text):
        return text
    # Rather after a space, or else a separator, than in the middle of a word; unless the line would be very short.
    for separators, least in ((" ", fits // 2), ("._,/(", fits // 3)):
        at = max(text.rfind(separator, 0, fits) + 1 for separator in separators)
        if at > least:
            return text[:at]
    return text[:fits]
