"""Long chains are deep trees: how deep the compiler's own recursion may go."""

from __future__ import annotations

import sys
from typing import Final

RECURSION_LIMIT: Final = 20_000
"""Frames for the longest chain that the guards let through, walked and pickled.

A chain of n calls is 2 n nodes deep, and a walk takes up to four frames a node.
"""


def allow_deep_trees() -> None:
    """Raise the recursion limit where it is lower; calls from Python to Python take no stack of the system."""
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
