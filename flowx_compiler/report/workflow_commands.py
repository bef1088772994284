"""How text is written in the workflow commands of GitHub Actions."""

from __future__ import annotations


def escaped(text: str) -> str:
    """A text as a command's message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """A text as the value of one of a command's properties."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")
