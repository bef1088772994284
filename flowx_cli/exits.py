"""The exit codes, the same for every verb."""

from __future__ import annotations

from typing import Final

NOTHING_FOUND: Final = 0
CHECK_SAYS_NO: Final = 1
COMMAND_WAS_WRONG: Final = 2
NOT_THERE: Final = 3
STORE_UNREACHABLE: Final = 4
READER_LEFT: Final = 141
"""What a shell says of a program that ended because nobody read its output any more (128 and SIGPIPE)."""
