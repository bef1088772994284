"""What differs between the interpreters that the tests run on."""

from __future__ import annotations

import sys
from typing import Final

IS_SHALLOW: Final = sys.version_info[:2] == (3, 12)
"""Early releases of Python 3.12 let C code call itself 1,500 times, whatever the recursion limit: LibCST writes a chain
of calls with four such calls a link. What is deeper is refused by FLOWX1282, as everywhere; it is less there."""

LONG_CHAIN: Final = 300 if IS_SHALLOW else 500
"""Calls in a chain that every build must read."""
