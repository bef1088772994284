"""What the terminal on the other side can show."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def has_colour(stream: TextIO = sys.stdout) -> bool:
    """Whether to paint: `NO_COLOR` says no, `FORCE_COLOR` yes, else only a terminal that is not dumb gets colour."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
