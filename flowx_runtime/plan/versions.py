"""Which of two versions of a flow is newer. Standard library only."""

from __future__ import annotations

from typing import TypeAlias

Precedence: TypeAlias = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...], str]


def precedence(version: str) -> Precedence:
    """A key that sorts versions from oldest to newest; a pre-release is older than its release.

    Text that is no version sorts before every version, so that one odd entry does not hide the rest.
    """
    core, _, build = version.partition("+")
    numbers, _, pre_release = core.partition("-")
    parts = [int(part) if part.isdecimal() else -1 for part in [*numbers.split("."), "0", "0"][:3]]
    identifiers = tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in pre_release.split(".") if part
    )
    return (parts[0], parts[1], parts[2]), not pre_release, identifiers, build
