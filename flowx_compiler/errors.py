"""What stops the compiler before it has anything to judge."""

from __future__ import annotations


class UsageProblem(Exception):
    """The command or the configuration is wrong; the message is one sentence that says what to do."""
